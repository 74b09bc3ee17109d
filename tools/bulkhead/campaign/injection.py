# SPDX-License-Identifier: BSD-2-Clause
"""Choose the bytes that a fault changes in a halted machine, and change them.

A fault changes only what the victim owns: its memory, the registers of its processor, its device.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bulkhead.campaign.fault import Fault, Kind, Place
from bulkhead.campaign.scene import PC, PSTATE, STACK_POINTER, WORD, Queue, Scene
from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.board_tree import registers
from bulkhead.system.ranges import Range

_INSTRUCTION = 4
_BRANCH_TO_ITSELF = 0x14000000  # B . (Arm ARM, C6.2.26)
_BRANCH_OFFSET = 0x03FFFFFF
_LOOP = 16  # instructions
_MASKS = 0x3C0  # PSTATE.D, A, I and F
_FLAGS = range(28, 32)  # PSTATE.V to N
_RETURNS_MAX = 16  # frames of the stack
_NEAR_WORDS = 48  # of code around an instruction
_STACK_BYTES = 512  # of a stack that are likely in use
_ALL_ONES = (1 << 64) - 1
# struct arch_context (arch/arm64/include/arch/cpu_inline.h).
_CONTEXT_WORDS, _CONTEXT_COMPLETE = 34, 34 * WORD
_CONTEXT_STACK_POINTER = 31
_PRESERVED = tuple(range(19, 34))  # X19 to X30, SP, PC, PSTATE
_THREADS = "campaign_threads"
_DESCRIPTOR, _DESCRIPTORS = 16, 64  # bytes; number of them to choose from
_RING_BYTES = 512  # of each part of a queue to choose from
# VIRTIO 1.3, 4.1.4.3: offset and size of registers that the driver writes.
_DRIVER_REGISTERS = (
    (0x10, 2), (0x14, 1), (0x16, 2), (0x18, 2), (0x1A, 2), (0x1C, 2), (0x20, 4), (0x28, 4),
    (0x30, 4),
)  # fmt: skip
_SELECT, _ENABLE = 0x16, 0x1C
# PCI 3.0, 6.1: offset, size and bits of registers that belong to the function alone.
_HEADER = ((0x04, 2, range(11)), (0x0C, 1, range(8)), (0x3C, 1, range(8)))
_MSIX_CONTROL = 2


@dataclass
class Injection:
    """What a fault has changed."""

    text: str = ""  # for a reader
    words: dict[int, bytes] = field(default_factory=dict)  # by physical address
    is_stuck: bool = False  # they are written again and again
    is_certain: bool = False  # it takes effect without an access that could be seen
    watched: tuple[int, int] = (0, 0)  # physical address and size
    watched_code: tuple[int, int] = (0, 0)  # virtual address and code
    # A fault that follows the victim's next read of a byte at a physical address, and makes its own
    # injection then. 0: the fault is complete.
    trigger: int = 0
    late: Callable[[], Injection] | None = None


class NothingThere(Exception):
    """The victim has nothing of the kind, at this instant."""


def inject(fault: Fault, scene: Scene) -> Injection:
    """Inject a fault. Raises NothingThere."""
    chosen = random.Random(fault.choice)
    injection = _INJECTORS[fault.place](fault, scene, chosen)
    for address, data in injection.words.items():
        scene.stub.write(address, data)
    return injection


def _changed(kind: Kind, chosen: random.Random, before: int) -> int:
    """Return another value for a word of 64 bits."""
    if kind is Kind.FLIP:
        return before ^ 1 << chosen.randrange(64)
    if kind is Kind.STUCK:
        after = chosen.choice((0, _ALL_ONES))
        return after ^ _ALL_ONES if after == before else after
    return chosen.getrandbits(64)


def _word(fault: Fault, scene: Scene, chosen: random.Random, address: int) -> Injection:
    """Change a word of the victim's memory."""
    injection = _physical_word(fault, scene, chosen, scene.physical(address))
    injection.text += f" at {address:#x}"
    return injection


def _physical_word(fault: Fault, scene: Scene, chosen: random.Random, address: int) -> Injection:
    """Change a word of memory. Of a flipped bit only the byte is written, and watched."""
    before = int.from_bytes(scene.read_physical(Range(address, WORD)), "little")
    after = _changed(fault.kind, chosen, before)
    data = after.to_bytes(WORD, "little")
    first, size = 0, WORD
    if fault.kind is Kind.FLIP:
        first, size = ((before ^ after).bit_length() - 1) // 8, 1
    return Injection(
        f"{before:#x} becomes {after:#x}",
        {address + first: data[first : first + size]},
        is_stuck=fault.kind is Kind.STUCK,
        watched=(address + first, size),
    )


def _used_word(fault: Fault, scene: Scene, chosen: random.Random, where: Range) -> Injection:
    """Change a word of a physical range that is not 0."""
    data = scene.read_physical(where)
    used = [at for at in range(0, where.bytes, WORD) if any(data[at : at + WORD])]
    at = _one_of(chosen, used)
    injection = _physical_word(fault, scene, chosen, where.start + at)
    injection.text += f" at {at:#x}"
    return injection


def _code(fault: Fault, scene: Scene, chosen: random.Random) -> Injection:
    registers_now = scene.registers()
    pc = registers_now[PC]
    if fault.kind is Kind.SKIP:
        scene.stub.set_register(PC, pc + _INSTRUCTION)
        return Injection(f"the instruction at {pc:#x} is skipped", is_certain=True)
    if fault.kind is Kind.HANG:
        state = scene.stub.register(PSTATE)
        scene.stub.set_register(PSTATE, state | _MASKS, _INSTRUCTION)
        return _instruction(scene, pc, _BRANCH_TO_ITSELF, "with all interrupts masked")
    if fault.kind is Kind.LIVELOCK:
        back = -_LOOP & _BRANCH_OFFSET
        return _instruction(scene, pc, _BRANCH_TO_ITSELF | back, "")
    address = _executed(scene, chosen, registers_now)
    before = int.from_bytes(scene.read(address, _INSTRUCTION), "little")
    if fault.kind is Kind.STUCK:
        return _instruction(scene, address, chosen.choice((0, 0xFFFFFFFF)), "")
    return _instruction(scene, address, before ^ 1 << chosen.randrange(32), "")


def _instruction(scene: Scene, address: int, code: int, addition: str) -> Injection:
    """Replace an instruction. QEMU translates it again, because the write is the debugger's."""
    before = int.from_bytes(scene.read(address, _INSTRUCTION), "little")
    return Injection(
        f"instruction {before:#010x} becomes {code:#010x} at {address:#x} {addition}".rstrip(),
        {scene.physical(address): code.to_bytes(_INSTRUCTION, "little")},
        watched_code=(address, code),
    )


def _executed(scene: Scene, chosen: random.Random, registers_now: Sequence[int]) -> int:
    """Return an instruction: near one that the thread executes or returns to, or any."""
    text = scene.section(".text")
    places = [registers_now[PC], *_returns(scene, registers_now)]
    near = chosen.choice(places)
    if chosen.random() < 0.8:
        offset = chosen.randrange(-_NEAR_WORDS, _NEAR_WORDS)
        address = near + _INSTRUCTION * offset
        if text.start <= address < text.end:
            return address
    return text.start + _INSTRUCTION * chosen.randrange(text.bytes // _INSTRUCTION)


def _returns(scene: Scene, registers_now: Sequence[int]) -> list[int]:
    """Return the addresses that the functions of the thread return to (AAPCS64, 6.4.6)."""
    text = scene.section(".text")
    found = []
    frame = registers_now[29]
    for _ in range(_RETURNS_MAX):
        if frame % WORD or not scene.has(frame, 2 * WORD):
            break
        link = scene.word(frame + WORD)
        if text.start <= link < text.end:
            found.append(link)
        frame = scene.word(frame)
    return found


def _constants(fault: Fault, scene: Scene, chosen: random.Random) -> Injection:
    """Half of the faults hit the table that the victim's work reads."""
    where = scene.section(".rodata") if chosen.random() < 0.5 else scene.symbol("table")
    first = -(-where.start // WORD) * WORD
    count = (where.end - first) // WORD
    return _word(fault, scene, chosen, first + WORD * chosen.randrange(count))


def _data(fault: Fault, scene: Scene, chosen: random.Random) -> Injection:
    words = [
        each
        for name in (".data", ".bss")
        for each in scene.used_words(scene.section(name).start, scene.section(name).bytes)
    ]
    tables = scene.symbol("tables")
    return _word(
        fault,
        scene,
        chosen,
        _one_of(chosen, [each for each in words if not tables.start <= each < tables.end]),
    )


def _heap(fault: Fault, scene: Scene, chosen: random.Random) -> Injection:
    """Change a word that is not 0 of allocated memory but stacks, tables and rings."""
    page = PAGE_BYTES
    start = scene.victim.kernel + scene.symbols["image_end"].start
    other = {each & -page for each, _ in scene.descriptors()}
    other |= {part & -page for queue in scene.queues() for part in queue.parts}
    for lowest in scene.stacks:
        other |= {(lowest & -page) + page * number for number in range(-4, 5)}
    words = [
        each
        for each in scene.used_words(start, scene.victim.memory.end - start)
        if each & -page not in other
    ]
    return _word(fault, scene, chosen, _one_of(chosen, words))


def _stacks(fault: Fault, scene: Scene, chosen: random.Random) -> Injection:
    """Change what is above a stack pointer, or the deepest part that a thread has ever used."""
    threads = [each + WORD * _CONTEXT_STACK_POINTER for each in _threads(scene)]
    pointers = [scene.stub.register(STACK_POINTER), *map(scene.word, threads)]
    if scene.stacks and chosen.random() < 0.2:
        pointers = scene.stacks
    start = _one_of(chosen, [each & -WORD for each in pointers if scene.has(each, _STACK_BYTES)])
    return _word(fault, scene, chosen, start + WORD * chosen.randrange(_STACK_BYTES // WORD))


def _tables(fault: Fault, scene: Scene, chosen: random.Random) -> Injection:
    address = _one_of(chosen, [each for each, _ in scene.descriptors()])
    return _word(fault, scene, chosen, address)


def _threads(scene: Scene) -> list[int]:
    """Return the addresses of the contexts of the victim's threads."""
    pointers = scene.symbol(_THREADS)
    threads = (scene.word(at) for at in range(pointers.start, pointers.end, WORD))
    return [each for each in threads if scene.has(each, _CONTEXT_COMPLETE + WORD)]


def _saved(fault: Fault, scene: Scene, chosen: random.Random) -> Injection:
    """Change a register in the context of a thread, which is loaded when the thread continues."""
    # In the context of the thread that executes now, the fault is overwritten before it is loaded.
    thread = _one_of(chosen, _threads(scene))
    is_complete = scene.word(thread + _CONTEXT_COMPLETE) != 0
    word = chosen.choice(tuple(range(_CONTEXT_WORDS)) if is_complete else _PRESERVED)
    return _word(fault, scene, chosen, thread + WORD * word)


def _registers(fault: Fault, scene: Scene, chosen: random.Random) -> Injection:
    number = chosen.choice(
        (*range(STACK_POINTER), *range(STACK_POINTER), STACK_POINTER, PC, PSTATE)
    )
    before = scene.stub.register(number)
    if number == PSTATE:
        after = before ^ 1 << chosen.choice(_FLAGS)
        scene.stub.set_register(number, after, _INSTRUCTION)
    else:
        after = _changed(fault.kind, chosen, before)
        scene.stub.set_register(number, after)
    name = {STACK_POINTER: "SP", PC: "PC", PSTATE: "PSTATE"}.get(number, f"X{number}")
    return Injection(f"{name}: {before:#x} becomes {after:#x}")


def _rings(fault: Fault, scene: Scene, chosen: random.Random) -> Injection:
    # The receive queue always has descriptors that the device may use.
    queue = scene.queues()[0 if fault.kind is Kind.DMA else chosen.randrange(2)]
    if not all(scene.has(part) for part in queue.parts):
        raise NothingThere("the device has no queue")
    if fault.kind is Kind.DMA:
        return _wild_descriptors(scene, chosen, queue)
    if fault.kind is Kind.MALICIOUS:
        return _malicious(scene, chosen, queue)
    words = [each for part in queue.parts for each in scene.used_words(part & -WORD, _RING_BYTES)]
    return _word(fault, scene, chosen, _one_of(chosen, words))


def _wild_address(scene: Scene, chosen: random.Random) -> int:
    """Return an address that a device of the victim must not reach, or must not write."""
    layout = scene.layout
    return chosen.choice(
        [
            *(place.physical for place in layout.places[1:]),
            layout.hypervisor.start,
            layout.hypervisor.end - PAGE_BYTES,
            registers(layout.board.roles["interrupt_controller"])[0][0],
            scene.victim.memory.end,
            scene.victim.kernel,
            chosen.getrandbits(39),
        ]
    )


def _wild_descriptors(scene: Scene, chosen: random.Random, queue: Queue) -> Injection:
    """Make the descriptors of a queue name an address that is not the victim's."""
    address = _wild_address(scene, chosen)
    words: dict[int, bytes] = {}
    for number in range(min(queue.size, _DESCRIPTORS)):
        at = queue.parts[0] + _DESCRIPTOR * number
        if scene.word(at) != 0:
            words[scene.physical(at)] = address.to_bytes(WORD, "little")
    if not words:
        raise NothingThere("no descriptor is in use")
    return Injection(f"{len(words)} descriptors of queue {queue.number} name {address:#x}", words)


def _malicious(scene: Scene, chosen: random.Random, queue: Queue) -> Injection:
    """Make the device break the protocol at its next interrupt (VIRTIO 1.3, 2.7.8).

    The driver has read the cause of the interrupt then, and not yet the ring.
    """
    if queue.is_packed:
        raise NothingThere("the ring is packed")
    seed = chosen.getrandbits(64)

    def break_protocol() -> Injection:
        return _broken_used_ring(scene, random.Random(seed), queue)

    return Injection("the device never interrupts", trigger=scene.cause, late=break_protocol)


def _broken_used_ring(scene: Scene, chosen: random.Random, queue: Queue) -> Injection:
    used = queue.parts[2]
    index = int.from_bytes(scene.read(used + 2, 2), "little")
    element = used + 4 + 8 * ((index - 1) % queue.size)
    if chosen.random() < 1 / 3:
        wrong = (index + chosen.choice((1, 2, queue.size, 0x7FFF, 0x8000))) & 0xFFFF
        return _written(scene, used + 2, wrong.to_bytes(2, "little"), f"used index {wrong}")
    if chosen.random() < 1 / 2:
        identity = chosen.choice((queue.size, chosen.getrandbits(32), chosen.randrange(queue.size)))
        return _written(scene, element, identity.to_bytes(4, "little"), f"used id {identity:#x}")
    length = chosen.getrandbits(32)
    return _written(scene, element + 4, length.to_bytes(4, "little"), f"used length {length:#x}")


def _written(scene: Scene, address: int, data: bytes, text: str) -> Injection:
    physical = scene.physical(address)
    return Injection(f"{text} at {address:#x}", {physical: data}, watched=(physical, len(data)))


def _channel(fault: Fault, scene: Scene, chosen: random.Random) -> Injection:
    """Change the section that the victim writes, which its peer reads."""
    if not scene.victim.channels:
        raise NothingThere("the victim has no channel")
    end = scene.victim.channels[0]
    own = end.place.parts(end.place.physical.start)[1 + end.number]
    return _used_word(fault, scene, chosen, own)


def _device(fault: Fault, scene: Scene, chosen: random.Random) -> Injection:
    selected = scene.device_register(_SELECT, 2)
    queue = chosen.randrange(2)
    scene.set_device_register(_SELECT, queue, 2)
    if fault.kind is Kind.DMA:
        part = 0x20 + 8 * chosen.randrange(3)
        address = _wild_address(scene, chosen)
        scene.set_device_register(part, address & 0xFFFFFFFF, 4)
        scene.set_device_register(part + 4, address >> 32, 4)
        scene.set_device_register(_ENABLE, 1, 2)
        text = f"queue {queue}: register {part:#x} becomes {address:#x}"
    else:
        offset, size = chosen.choice(_DRIVER_REGISTERS)
        before = scene.device_register(offset, size)
        after = before ^ 1 << chosen.randrange(8 * size)
        scene.set_device_register(offset, after, size)
        text = f"queue {queue}: register {offset:#x}: {before:#x} becomes {after:#x}"
        if offset == _SELECT:
            return Injection(text)
    scene.set_device_register(_SELECT, selected, 2)
    return Injection(text)


def _configuration(_fault: Fault, scene: Scene, chosen: random.Random) -> Injection:
    """Flip a bit of a register of the function that has no effect on other functions.

    Addresses (BARs) are left out: the hypervisor confines what a guest writes there, and a fault of
    the hardware itself that moves a function onto another one is not the victim's.
    """
    places = list(_HEADER)
    if scene.msix:
        places.append((scene.msix + _MSIX_CONTROL, 2, range(14, 16)))
    offset, size, bits = chosen.choice(places)
    before = scene.configuration_word(offset, size)
    after = before ^ 1 << chosen.choice(bits)
    scene.stub.write(scene.configuration + offset, after.to_bytes(size, "little"))
    return Injection(f"configuration {offset:#x}: {before:#x} becomes {after:#x}")


def _kept(fault: Fault, scene: Scene, chosen: random.Random) -> Injection:
    kept = scene.victim.kept
    if kept is None:
        raise NothingThere("the victim has no kept memory")
    return _used_word(fault, scene, chosen, Range(kept.physical, kept.region.bytes))


def _one_of(chosen: random.Random, places: Sequence[int]) -> int:
    if not places:
        raise NothingThere("nothing of the kind is in use")
    return chosen.choice(places)


_INJECTORS: dict[Place, Callable[[Fault, Scene, random.Random], Injection]] = {
    Place.CODE: _code,
    Place.CONSTANTS: _constants,
    Place.DATA: _data,
    Place.HEAP: _heap,
    Place.STACKS: _stacks,
    Place.TABLES: _tables,
    Place.SAVED: _saved,
    Place.REGISTERS: _registers,
    Place.RINGS: _rings,
    Place.CHANNEL: _channel,
    Place.DEVICE: _device,
    Place.CONFIGURATION: _configuration,
    Place.KEPT: _kept,
}
