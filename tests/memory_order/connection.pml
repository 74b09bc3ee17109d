/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lives of a channel's sides (channel/connection.c), the indices of its ring (channel/ring.c)
 * and its notifications (channel/wait.c), for SPIN. Each access to a shared word is a step of its
 * own. The steps of a side are in order: test_channel.c checks the memory order.
 *
 * Side 0 sends MESSAGES messages in each connection and side 1 receives them, through a ring of
 * SLOTS messages. A life of a side may end at any step, with its process or its partition. The next
 * one finds in the section what the last one left. Properties:
 *   - A message is received by the life for which it was sent, from the life that sent it, in
 *     order, and once.
 *   - A receiver that stays receives all that a life of the sender has published for it.
 *   - No side takes an honest peer for one that violates the format.
 *   - When both sides sleep, or have ended, nothing is left to do: two lives are connected and all
 *     messages are received, and no side is connected with a life that ended.
 *
 * A name LEAVE_OUT_... that is defined leaves out a step, which must violate a property.
 */
#define LIVES       2 /* of each side, at most */
#define MESSAGES    2
#define SLOTS       1
#define GENERATIONS (LIVES + 1) /* from 1 on */

#define SENDER   0
#define RECEIVER 1

#define WAITS_FOR_MESSAGE 1
#define WAITS_FOR_SPACE   2

mtype = { CONNECTING, CONNECTED, ENDING, ENDED };

/* The sections. Each side writes its own words only. */
byte generation[2];
byte acknowledged[2];
byte connected[2];
byte start;    /* the sender's: the receiver sends nothing */
byte produced; /* the sender's */
byte consumed; /* the receiver's */
byte waits[2];
bool table[2] = true; /* the state table, which the hypervisor writes */

/* What the sender writes to the slots: its life, the receiver's life, and the message's number. */
byte from[SLOTS];
byte to[SLOTS];
byte number[SLOTS];

bool doorbell[2];

/* What a life remembers. */
local mtype state[2] = CONNECTING;
local byte own[2]; /* its generation */
local byte peer[2];
local byte ended[2];
local byte position[2];
local byte limit[2];
local byte sent;     /* in the sender's connection */
local bool is_sending;

/* For the properties: the messages between two lives. */
#define PAIR(sender, receiver) ((sender) * GENERATIONS + (receiver))
local byte published[GENERATIONS * GENERATIONS];
local byte received[GENERATIONS * GENERATIONS];

local byte lives[2];
local bool is_stopped[2];

#define ALL_RECEIVED(sender, receiver) \
    (received[PAIR(sender, receiver)] == published[PAIR(sender, receiver)])

/* Writes to a shared word. A life may end before each of its writes, and while it sleeps. */
inline write(word, value)
{
    if
    :: word = value
    :: lives[s] > 1 -> goto end_of_life
    fi
}

inline notify_peer()
{
    write(doorbell[1 - s], true)
}

inline acknowledge()
{
    /* The receiver has not been connected with the life that it acknowledged before. */
    assert(s == SENDER || ALL_RECEIVED(peer[s], own[s]));
    write(connected[s], 0);
#ifdef LEAVE_OUT_ORDER_OF_START
    write(acknowledged[s], seen);
#endif
#ifndef LEAVE_OUT_START
    if
    :: s == SENDER -> write(start, position[s])
    :: else
    fi;
#endif
#ifndef LEAVE_OUT_ORDER_OF_START
    write(acknowledged[s], seen);
#endif
    peer[s] = seen;
#ifndef LEAVE_OUT_NOTIFICATIONS_OF_LIVES
    notify_peer();
#endif
}

/* The sender sends once the receiver is connected, too. */
inline begin_sending()
{
    if
    :: s == SENDER && !is_sending ->
#ifdef LEAVE_OUT_CONNECTED
        seen = own[s];
#else
        seen = connected[1 - s];
#endif
        if
        :: seen == own[s] ->
            d_step { is_sending = true; limit[s] = position[s] + SLOTS }
        :: else
        fi
    :: else
    fi
}

inline connect()
{
    seen = generation[1 - s];
#ifdef LEAVE_OUT_ENDED
    if
    :: seen != 0 ->
#else
    if
    :: seen != 0 && seen != ended[s] ->
#endif
        if
        :: seen != peer[s] -> acknowledge()
        :: else
        fi;
        seen = acknowledged[1 - s];
        if
        :: seen == own[s] ->
            if
            :: s == RECEIVER ->
                position[s] = start;
                limit[s] = position[s];
                write(consumed, position[s])
            :: else
            fi;
            write(connected[s], peer[s]);
            d_step { state[s] = CONNECTED; sent = (s == SENDER -> 0 : sent) };
#ifndef LEAVE_OUT_NOTIFICATION_OF_CONNECTION
            notify_peer();
#endif
            begin_sending()
        :: else
        fi
    :: else
    fi
}

inline announce_life()
{
    seen = acknowledged[1 - s];
    d_step {
        own[s]++;
        if
        :: own[s] == seen -> own[s]++
        :: else
        fi;
        assert(own[s] < GENERATIONS);
        state[s] = CONNECTING;
        peer[s] = 0;
        ended[s] = 0;
        is_sending = (s == SENDER -> false : is_sending);
        limit[s] = position[s]
    };
    write(waits[s], 0);
#ifdef LEAVE_OUT_ORDER_OF_GENERATION
    write(generation[s], own[s]);
#endif
#ifndef LEAVE_OUT_RESET_OF_ACKNOWLEDGEMENT
    write(acknowledged[s], 0);
#endif
    write(connected[s], 0);
#ifndef LEAVE_OUT_ORDER_OF_GENERATION
    write(generation[s], own[s]);
#endif
#ifndef LEAVE_OUT_NOTIFICATIONS_OF_LIVES
    notify_peer();
#endif
}

inline end_sending(generation_that_ended)
{
    d_step {
        state[s] = ENDING;
        ended[s] = generation_that_ended;
        is_sending = (s == SENDER -> false : is_sending)
    }
}

inline check_life()
{
    seen = generation[1 - s];
    if
    :: seen != peer[s] -> end_sending(0)
#ifndef LEAVE_OUT_TABLE
    :: seen == peer[s] ->
        if
        :: !table[1 - s] -> end_sending(seen)
        :: else -> begin_sending()
        fi
#else
    :: else -> begin_sending()
#endif
    fi
}

inline update()
{
    if
    :: state[s] == CONNECTED -> check_life()
    :: state[s] == CONNECTING -> connect()
    :: else
    fi
}

/* Reads the sender's index once all messages before the last one that was seen are received. */
inline read_produced()
{
    if
    :: s == RECEIVER && (state[s] == CONNECTED || state[s] == ENDING) && position[s] == limit[s] ->
        d_step {
            limit[s] = produced;
            assert(limit[s] >= position[s] && limit[s] <= position[s] + SLOTS)
        }
    :: else
    fi;
    is_ready = (s == RECEIVER && position[s] != limit[s])
}

inline receive_begin()
{
    read_produced();
    if
    :: !is_ready ->
        update();
#ifndef LEAVE_OUT_SECOND_LOOK
        read_produced();
#endif
        if
        :: !is_ready && state[s] == ENDING ->
            d_step {
                assert(s == SENDER || ALL_RECEIVED(peer[s], own[s]));
                state[s] = ENDED
            }
        :: else
        fi
    :: else
    fi
}

inline receive_end()
{
    d_step {
        assert(from[position[s] % SLOTS] == peer[s]);
        assert(to[position[s] % SLOTS] == own[s]);
        assert(number[position[s] % SLOTS] == received[PAIR(peer[s], own[s])]);
        received[PAIR(peer[s], own[s])]++;
        position[s]++
    };
    write(consumed, position[s]);
#ifndef LEAVE_OUT_NOTIFICATION_OF_SPACE
    if
    :: (waits[1 - s] & WAITS_FOR_SPACE) != 0 -> notify_peer()
    :: else
    fi
#endif
}

inline read_consumed()
{
    if
    :: is_sending && position[s] == limit[s] ->
        seen = consumed;
        d_step {
            assert(seen >= start && seen <= position[s]);
            limit[s] = seen + SLOTS
        }
    :: else
    fi;
    is_ready = (is_sending && position[s] != limit[s])
}

inline send_begin()
{
    read_consumed();
    if
    :: !is_ready ->
        update();
        if
        :: state[s] == CONNECTED -> read_consumed()
        :: else
        fi
    :: else
    fi
}

inline send_end()
{
#ifdef LEAVE_OUT_FENCE_OF_SENDER
    /* The flag is read before the index is visible. */
    seen = waits[1 - s];
#endif
    d_step {
        from[position[s] % SLOTS] = own[s];
        to[position[s] % SLOTS] = peer[s];
        number[position[s] % SLOTS] = sent;
        sent++;
        position[s]++
    };
    if
    :: atomic { produced = position[s]; published[PAIR(own[s], peer[s])]++ }
    :: lives[s] > 1 -> goto end_of_life
    fi;
#ifndef LEAVE_OUT_FENCE_OF_SENDER
    seen = waits[1 - s];
#endif
    if
    :: (seen & WAITS_FOR_MESSAGE) != 0 -> notify_peer()
    :: else
    fi
}

inline look()
{
    if
    :: flags == WAITS_FOR_SPACE -> send_begin()
    :: else -> receive_begin()
    fi
}

/* One life after the other. */
proctype side(byte s)
{
    byte seen;
    byte flags;
    bool is_ready;
    bool is_waiting;
    mtype before;

begin_life:
    own[s] = generation[s];
    d_step {
        position[s] = (s == SENDER -> produced : 0);
        is_waiting = false
    };
    announce_life();
    connect();
    do
    :: if
       :: is_waiting ->
            doorbell[s] = false;
#ifdef LEAVE_OUT_FENCE_OF_WAIT
            /* The flags become visible after the last look. */
            look();
            write(waits[s], flags)
#else
            write(waits[s], flags);
#ifndef LEAVE_OUT_LAST_LOOK
            look()
#endif
#endif
       :: else ->
            d_step {
                before = state[s];
                flags = (s == SENDER && before == CONNECTED && sent < MESSAGES ->
                         WAITS_FOR_SPACE : WAITS_FOR_MESSAGE)
            };
            look()
       fi;
       if
       :: is_ready || state[s] != before ->
            if
            :: is_waiting -> write(waits[s], 0); is_waiting = false
            :: else
            fi;
            if
            :: is_ready && s == SENDER -> send_end()
            :: is_ready && s == RECEIVER -> receive_end()
            :: !is_ready && state[s] == ENDED ->
                d_step { state[s] = CONNECTING; limit[s] = position[s] };
                connect()
            :: else
            fi
       :: else ->
            if
            :: !is_waiting -> is_waiting = true
            :: is_waiting ->
end_sleep:      if
                :: doorbell[s]
                :: lives[s] > 1 -> goto end_of_life
                fi
            fi
       fi
    od;
end_of_life:
    lives[s]--;
    if
    :: goto begin_life /* another process */
    :: table[s] = false;
#ifndef LEAVE_OUT_NOTIFICATION_OF_TABLE
        doorbell[1 - s] = true;
#endif
        if
        :: is_stopped[s] = true
        :: table[s] = true; /* another partition */
            doorbell[1 - s] = true;
            goto begin_life
        fi
    fi
}

init
{
    atomic {
        do
        :: lives[SENDER] < LIVES -> lives[SENDER]++
        :: lives[RECEIVER] < LIVES -> lives[RECEIVER]++
        :: lives[SENDER] > 0 && lives[RECEIVER] > 0 -> break
        od;
        run side(SENDER);
        run side(RECEIVER)
    };
    timeout;
    if
    :: !is_stopped[SENDER] && !is_stopped[RECEIVER] ->
        assert(state[SENDER] == CONNECTED && peer[SENDER] == own[RECEIVER]);
        assert(state[RECEIVER] == CONNECTED && peer[RECEIVER] == own[SENDER]);
        assert(received[PAIR(own[SENDER], own[RECEIVER])] == MESSAGES)
    :: else ->
        assert(is_stopped[SENDER] || state[SENDER] == CONNECTING);
        assert(is_stopped[RECEIVER] || state[RECEIVER] == CONNECTING)
    fi
}
