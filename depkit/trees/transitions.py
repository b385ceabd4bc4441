"""The arc-standard transition system with SWAP (Nivre 2009), its oracle and greedy decoding.

A state has a stack, a buffer and the arcs so far. In the first state the stack has the artificial
root 0, and the buffer all words; the last state has only the root, on the stack. s1 is the top of
the stack, s2 the node below it, and b1 the first word of the buffer.

- SHIFT moves b1 to the stack.
- SWAP moves s2 back to the front of the buffer. It is legal if s2 is a word that comes before s1 in
  the sentence, so two words are swapped at most once, and parsing ends.
- LEFT attaches s2 to s1 and removes s2, which must not be the root.
- RIGHT attaches s1 to s2 and removes s1. With `single_root`, s1 is attached to the root only as the
  last transition.

Every tree can be built: without SWAP only projective ones. A state is stored in these arrays, for a
sentence of n words:

    stack: [n + 1] int32, the nodes from the bottom to the top, the artificial root first.
    buffer: [n] int32, whose words from `front` on are in the buffer, in order.
    counts: [3] int32: the size of the stack, `front`, and the number of SWAPs so far.
    head: [n] int32, the heads of the words that have one, -1 for the others.
"""

import numpy as np

from depkit.trees.compiled import compiled

SHIFT, SWAP, LEFT, RIGHT = range(4)
TRANSITIONS = 4
NOTHING = -1  # instead of s2 or b1, if there is none
MAX_SWAPS = 5  # per word of a sentence, in decoding; this bounds the time a poor model can take
_SIZE, _FRONT, _SWAPS = range(3)


@compiled
def start_state(
    stack: np.ndarray, buffer: np.ndarray, counts: np.ndarray, head: np.ndarray
) -> None:
    """Write the first state of a sentence into its arrays."""
    stack[0] = 0
    counts[_SIZE], counts[_FRONT], counts[_SWAPS] = 1, 0, 0
    for i in range(head.size):
        buffer[i] = i + 1
        head[i] = -1


@compiled
def first_nodes(stack: np.ndarray, buffer: np.ndarray, counts: np.ndarray) -> tuple[int, int, int]:
    """Return s2, s1 and b1 of a state; s2 and b1 are NOTHING if there is none."""
    size, front = counts[_SIZE], counts[_FRONT]
    s2 = stack[size - 2] if size > 1 else NOTHING
    b1 = buffer[front] if front < buffer.size else NOTHING
    return s2, stack[size - 1], b1


@compiled
def is_final(buffer: np.ndarray, counts: np.ndarray) -> bool:
    """Whether a state is the last one: all words have a head."""
    return counts[_FRONT] == buffer.size and counts[_SIZE] == 1


@compiled
def is_legal(
    transition: int,
    stack: np.ndarray,
    buffer: np.ndarray,
    counts: np.ndarray,
    single_root: bool,
) -> bool:
    """Whether a transition can be applied to a state that is not the last one."""
    s2, s1, b1 = first_nodes(stack, buffer, counts)
    if transition == SHIFT:
        return b1 != NOTHING
    if transition == SWAP:
        return 0 < s2 and s2 < s1
    if transition == LEFT:
        return s2 > 0
    return s2 > 0 or (s2 == 0 and (not single_root or b1 == NOTHING))


@compiled
def apply_transition(
    transition: int, stack: np.ndarray, buffer: np.ndarray, counts: np.ndarray, head: np.ndarray
) -> None:
    """Apply a legal transition to a state, whose arrays change."""
    size, front = counts[_SIZE], counts[_FRONT]
    if transition == SHIFT:
        stack[size] = buffer[front]
        counts[_SIZE], counts[_FRONT] = size + 1, front + 1
        return
    s2, s1 = stack[size - 2], stack[size - 1]
    counts[_SIZE] = size - 1
    if transition == RIGHT:
        head[s1 - 1] = s2
        return
    stack[size - 2] = s1
    if transition == SWAP:
        buffer[front - 1] = s2
        counts[_FRONT] = front - 1
        counts[_SWAPS] += 1
    else:
        head[s2 - 1] = s1


@compiled
def find_transitions(head: np.ndarray) -> np.ndarray:
    """Find the transitions that build a tree: the static oracle with eager SWAP (Nivre 2009).

    They are 2n + 2k for k SWAPs, with no SWAP for a projective tree. O(n + transitions).

    head: [n] int32, the heads of a tree; several words may have the head 0, but the transitions are
    legal with `single_root` only if one has. Returns [transitions] int8. Raises ValueError if the
    heads are not a tree.
    """
    n = head.size
    rank = rank_in_order(head)
    missing = np.zeros(n + 1, np.int32)  # dependents that are not attached yet
    for i in range(n):
        missing[head[i]] += 1
    stack, buffer = np.empty(n + 1, np.int32), np.empty(n, np.int32)
    counts, partial = np.empty(3, np.int32), np.empty(n, np.int32)
    start_state(stack, buffer, counts, partial)
    transitions = np.empty(2 * n + 2, np.int8)
    length = 0
    while not is_final(buffer, counts):
        s2, s1, _ = first_nodes(stack, buffer, counts)
        transition = SHIFT
        if s2 > 0 and head[s2 - 1] == s1 and missing[s2] == 0:
            transition = LEFT
            missing[s1] -= 1
        elif s2 != NOTHING and head[s1 - 1] == s2 and missing[s1] == 0:
            transition = RIGHT
            missing[s2] -= 1
        elif 0 < s2 and s2 < s1 and rank[s1] < rank[s2]:
            transition = SWAP
        if length == transitions.size:
            longer = np.empty(2 * length, np.int8)
            for i in range(length):  # numba compiles an assignment to a slice for four seconds
                longer[i] = transitions[i]
            transitions = longer
        transitions[length] = transition
        length += 1
        apply_transition(transition, stack, buffer, counts, partial)
    return transitions[:length]


@compiled
def rank_in_order(head: np.ndarray) -> np.ndarray:
    """Number the nodes of a tree in the order of an in-order traversal, the projective order.

    A node comes after its dependents on the left with their subtrees, and before those on the
    right. Returns [n + 1] int32, the ranks of the artificial root and of the words. O(n).
    """
    n = head.size
    # The dependents of each node, in order, as linked lists
    first, following = np.full(n + 1, NOTHING, np.int32), np.full(n + 1, NOTHING, np.int32)
    for word in range(n, 0, -1):
        if head[word - 1] < 0 or head[word - 1] > n:
            raise ValueError("a head is out of range")
        following[word] = first[head[word - 1]]
        first[head[word - 1]] = word
    rank = np.full(n + 1, NOTHING, np.int32)
    path = np.empty(n + 1, np.int32)  # the nodes from the root to the current one
    path[0], length, count = 0, 1, 0
    while length:
        node = path[length - 1]
        dependent = first[node]
        if rank[node] == NOTHING and (dependent == NOTHING or dependent > node):
            rank[node] = count
            count += 1
        if dependent == NOTHING:
            length -= 1
        else:
            first[node] = following[dependent]
            path[length] = dependent
            length += 1
    if count <= n:
        raise ValueError("the heads are not a tree")
    return rank


@compiled
def record_states(
    transitions: np.ndarray,
    steps: np.ndarray,
    stacks: np.ndarray,
    buffers: np.ndarray,
    counts: np.ndarray,
    heads: np.ndarray,
) -> None:
    """Write the states of a sentence of n words before some of its transitions.

    transitions: legal ones from the first state on. steps: the indices of transitions, in rising
    order. The other arrays, [steps, the size of the array of one state] int32, are overwritten, in
    buffers only the words that are in the buffer.
    """
    n = heads.shape[1]
    stack, buffer = np.empty(n + 1, np.int32), np.empty(n, np.int32)
    count, head = np.empty(3, np.int32), np.empty(n, np.int32)
    start_state(stack, buffer, count, head)
    recorded = 0
    for step in range(transitions.size):
        while recorded < steps.size and steps[recorded] == step:
            stacks[recorded, : count[_SIZE]] = stack[: count[_SIZE]]
            buffers[recorded] = buffer
            counts[recorded] = count
            heads[recorded] = head
            recorded += 1
        apply_transition(transitions[step], stack, buffer, count, head)


@compiled
def arrange_nodes(
    stack: np.ndarray,
    buffer: np.ndarray,
    counts: np.ndarray,
    head: np.ndarray,
    with_attached: bool,
    sequence: np.ndarray,
    segment: np.ndarray,
    position: np.ndarray,
) -> int:
    """Arrange the nodes of a state as Mohammadshahi and Henderson (2020, section 4.1.1) do.

    The sequence is CLS, the stack from the bottom, SEP, the buffer, and with `with_attached` also
    SEP and the words that have a head and are no longer on the stack, in the order of the sentence.

    Overwrites sequence, [at least n + 4], with nodes, n + 1 for CLS and n + 2 for SEP; segment, of
    the same size, with 0 for CLS, the stack and the SEP after it, 1 for the buffer and the SEP
    after it, and 2 for attached words; and position, [n + 1], with the index in the sequence of
    each node, 0 for none. Returns the length of the sequence.
    """
    n = head.size
    position[:] = 0
    sequence[0] = n + 1
    length = 1
    for i in range(counts[_SIZE]):
        sequence[length] = stack[i]
        length += 1
    sequence[length] = n + 2
    length += 1
    segment[:length] = 0
    start = length
    for i in range(counts[_FRONT], n):
        sequence[length] = buffer[i]
        length += 1
    if with_attached:
        sequence[length] = n + 2
        length += 1
    segment[start:length] = 1
    start = length
    if with_attached:
        for i in range(n):
            if head[i] >= 0:
                sequence[length] = i + 1
                length += 1
    segment[start:length] = 2
    for i in range(length):
        if sequence[i] <= n:
            position[sequence[i]] = i
    return length


@compiled
def choose_transition(
    score: np.ndarray,
    stack: np.ndarray,
    buffer: np.ndarray,
    counts: np.ndarray,
    single_root: bool,
) -> int:
    """Return the best legal transition of a state that is not the last one.

    score: [TRANSITIONS]. After MAX_SWAPS SWAPs per word, no further SWAP is chosen. Of equal
    scores, the first one wins.
    """
    best = NOTHING
    for transition in range(TRANSITIONS):
        if transition == SWAP and counts[_SWAPS] >= MAX_SWAPS * buffer.size:
            continue
        if is_legal(transition, stack, buffer, counts, single_root):
            if best == NOTHING or score[transition] > score[best]:
                best = transition
    return best


@compiled
def decode_to_arc(
    s2_hidden: np.ndarray,
    s1_hidden: np.ndarray,
    b1_hidden: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    single_root: bool,
    arcs: int,
    stack: np.ndarray,
    buffer: np.ndarray,
    counts: np.ndarray,
    head: np.ndarray,
    taken: np.ndarray,
) -> int:
    """Apply the best transitions to a state until some arcs are found, or until the last state.

    The scores of a state are weight @ relu(s2_hidden[s2] + s1_hidden[s1] + b1_hidden[b1]) + bias, a
    network with one hidden layer over the vectors of three nodes, whose products with the first
    weights were computed before.

    The hidden parts: [n + 2, hidden] float32, for each node its part of the hidden layer where it
    is s2, s1 or b1; the last row is for NOTHING. weight: [TRANSITIONS, hidden] float32. bias:
    [TRANSITIONS] float32. arcs: the number of arcs after which to stop, at least 1. taken: [n], for
    each word that gets a head, overwritten with LEFT or RIGHT. Returns the number of transitions.
    """
    hidden = np.empty(weight.shape[1], np.float32)
    score = np.empty(TRANSITIONS, np.float32)
    steps = 0
    while arcs > 0 and not is_final(buffer, counts):
        s2, s1, b1 = first_nodes(stack, buffer, counts)
        for i in range(hidden.size):
            # The index NOTHING is that of the last row.
            hidden[i] = max(s2_hidden[s2, i] + s1_hidden[s1, i] + b1_hidden[b1, i], 0.0)
        for transition in range(TRANSITIONS):
            total = bias[transition]
            for i in range(hidden.size):
                total += weight[transition, i] * hidden[i]
            score[transition] = total
        best = choose_transition(score, stack, buffer, counts, single_root)
        if best == LEFT or best == RIGHT:
            taken[(s2 if best == LEFT else s1) - 1] = best
            arcs -= 1
        apply_transition(best, stack, buffer, counts, head)
        steps += 1
    return steps
