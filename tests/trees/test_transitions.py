"""The transition system on all trees of a few words, and on random walks through its states."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depkit.trees import transitions
from depkit.trees.compiled import interpreted
from depkit.trees.shape import has_crossing_arcs, is_tree
from depkit.trees.transitions import LEFT, MAX_SWAPS, NOTHING, RIGHT, SHIFT, SWAP
from tests.trees.all_trees import ancestors, head_vectors


class State:
    """The state of a plain implementation with lists."""

    def __init__(self, n):
        self.stack, self.buffer, self.head = [0], list(range(1, n + 1)), [-1] * n

    def legal(self, single_root):
        top = self.stack[-2:] if len(self.stack) > 1 else None
        legal = {SHIFT} if self.buffer else set()
        if top:
            s2, s1 = top
            if s2 > 0:
                legal |= {LEFT, RIGHT} | ({SWAP} if s2 < s1 else set())
            elif not single_root or not self.buffer:
                legal.add(RIGHT)
        return legal

    def apply(self, transition):
        if transition == SHIFT:
            self.stack.append(self.buffer.pop(0))
        elif transition == SWAP:
            self.buffer.insert(0, self.stack.pop(-2))
        elif transition == LEFT:
            dependent = self.stack.pop(-2)
            self.head[dependent - 1] = self.stack[-1]
        else:
            dependent = self.stack.pop()
            self.head[dependent - 1] = self.stack[-1]

    @property
    def is_final(self):
        return not self.buffer and self.stack == [0]


def make_arrays(n):
    arrays = (np.empty(n + 1, np.int32), np.empty(n, np.int32), np.empty(3, np.int32),
              np.empty(n, np.int32))  # fmt: skip
    transitions.start_state(*arrays)
    return arrays


def as_state(stack, buffer, counts, head):
    return stack[: counts[0]].tolist(), buffer[counts[1] :].tolist(), head.tolist()


def trees(n):
    for heads in head_vectors(n):
        if all(0 in ancestors(heads, word) for word in range(1, n + 1)):
            yield np.array(heads, np.int32)


@pytest.mark.parametrize("n", range(7))
def test_the_oracle_builds_every_tree_with_legal_transitions(n):
    for head in trees(n):
        found = transitions.find_transitions(head).tolist()
        swaps = found.count(SWAP)
        assert len(found) == 2 * n + 2 * swaps
        assert swaps <= n * (n - 1) / 2
        assert (swaps > 0) == (n > 0 and has_crossing_arcs(head))
        if n <= 5:  # all states of all trees would take long
            single_root = (head == 0).sum() == 1
            state = State(n)
            for transition in found:
                assert not state.is_final and transition in state.legal(single_root)
                state.apply(transition)
            assert state.is_final and state.head == head.tolist()
        else:
            arrays = make_arrays(n)
            for transition in found:
                transitions.apply_transition(transition, *arrays)
            assert arrays[3].tolist() == head.tolist()


@pytest.mark.parametrize("n", range(6))
def test_ranks_are_those_of_a_recursive_traversal(n):
    for head in trees(n):
        order = []

        def walk(node, head=head, order=order):
            dependents = np.flatnonzero(head == node) + 1
            for dependent in dependents[dependents < node]:
                walk(dependent)
            order.append(node)
            for dependent in dependents[dependents > node]:
                walk(dependent)

        walk(0)
        rank = transitions.rank_in_order(head)
        assert np.argsort(rank).tolist() == order


@settings(deadline=None)  # the first call compiles
@given(st.integers(1, 12), st.booleans(), st.randoms(use_true_random=False))
def test_every_random_walk_ends_in_a_tree(n, single_root, random):
    state, arrays = State(n), make_arrays(n)
    steps = 0
    while not state.is_final:
        assert not transitions.is_final(arrays[1], arrays[2])
        legal = {
            transition
            for transition in range(4)
            if transitions.is_legal(transition, *arrays[:3], single_root)
        }
        assert legal == state.legal(single_root) and legal
        s2, s1, b1 = transitions.first_nodes(*arrays[:3])
        assert s1 == state.stack[-1]
        assert s2 == (state.stack[-2] if len(state.stack) > 1 else NOTHING)
        assert b1 == (state.buffer[0] if state.buffer else NOTHING)
        # SWAP is preferred, so that walks with many of them occur.
        transition = SWAP if SWAP in legal and random.random() < 0.7 else random.choice([*legal])
        state.apply(transition)
        transitions.apply_transition(transition, *arrays)
        assert as_state(*arrays) == (state.stack, state.buffer, state.head)
        steps += 1
    assert transitions.is_final(arrays[1], arrays[2])
    assert is_tree(arrays[3]) and steps <= 2 * n + n * (n - 1)
    assert not single_root or (arrays[3] == 0).sum() == 1


def test_states_are_recorded_before_their_transitions():
    head = np.array([0, 4, 1, 1, 2], np.int32)
    assert has_crossing_arcs(head)
    oracle = transitions.find_transitions(head)
    steps = np.array([0, 2, 2, 5, len(oracle) - 1])
    stacks, buffers = np.zeros((5, 6), np.int32), np.zeros((5, 5), np.int32)
    counts, heads = np.zeros((5, 3), np.int32), np.zeros((5, 5), np.int32)
    transitions.record_states(oracle, steps, stacks, buffers, counts, heads)
    for i, step in enumerate(steps):
        state = State(5)
        for transition in oracle[:step]:
            state.apply(transition)
        assert as_state(stacks[i], buffers[i], counts[i], heads[i]) == (
            state.stack, state.buffer, state.head
        )  # fmt: skip


@pytest.mark.parametrize("heads", [[2, 1], [1], [3, 0], [-1, 0], [2, 3, 1]])
def test_heads_that_are_no_tree_are_refused(heads):
    with pytest.raises(ValueError, match=r"not a tree|out of range"):
        transitions.find_transitions(np.array(heads, np.int32))


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_greedy_decoding_takes_the_best_legal_transition(seed, single_root):
    rng = np.random.default_rng(seed)
    n, hidden = 7, 5
    parts = rng.normal(size=(3, n + 2, hidden)).astype(np.float32)
    weight = rng.normal(size=(4, hidden)).astype(np.float32)
    bias = rng.normal(size=4).astype(np.float32)
    bias[SWAP] += 2
    state, found = State(n), []
    while not state.is_final:
        s2 = state.stack[-2] if len(state.stack) > 1 else n + 1
        b1 = state.buffer[0] if state.buffer else n + 1
        x = np.maximum(parts[0, s2] + parts[1, state.stack[-1]] + parts[2, b1], 0)
        score = weight @ x + bias
        found.append(max(sorted(state.legal(single_root)), key=lambda t: score[t]))
        state.apply(found[-1])
    for arcs in (1, 2, 100):
        arrays = make_arrays(n)
        taken = np.zeros(n, np.int8)
        steps, runs = 0, 0
        while not transitions.is_final(arrays[1], arrays[2]):
            before = (arrays[3] >= 0).sum()
            steps += transitions.decode_to_arc(
                *parts, weight, bias, single_root, arcs, *arrays, taken
            )
            assert (arrays[3] >= 0).sum() == min(before + arcs, n)
            runs += 1
        assert runs == -(-n // arcs) and steps == len(found)
        assert arrays[3].tolist() == state.head
        assert taken.tolist().count(LEFT) == found.count(LEFT) and LEFT <= taken.min()


def test_the_number_of_swaps_is_limited():
    n = 40
    arrays = make_arrays(n)
    score = np.array([1.0, 2.0, -1.0, 0.0])  # SWAP, else SHIFT, else an arc
    steps = 0
    while not transitions.is_final(arrays[1], arrays[2]):
        best = transitions.choose_transition(score, *arrays[:3], True)
        transitions.apply_transition(best, *arrays)
        steps += 1
    assert arrays[2][2] == MAX_SWAPS * n and steps == 2 * n + 2 * MAX_SWAPS * n
    assert is_tree(arrays[3])


def test_kernels_run_interpreted():
    head = np.array([0, 4, 1, 1, 2], np.int32)
    compiled = transitions.find_transitions(head)
    with interpreted():
        assert transitions.find_transitions(head).tolist() == compiled.tolist()
