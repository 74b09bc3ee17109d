# SPDX-License-Identifier: BSD-2-Clause
"""Run a system under the model of the memory system (tools/memory_model): ./bulkhead cache."""
