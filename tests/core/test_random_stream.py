"""Chance is the same on every machine, and each purpose has a stream of its own."""

from collections import Counter

from recall_bench.core.random_stream import RandomStream, ShuffleBag


def test_a_stream_is_known_by_its_labels() -> None:
    drawn = [RandomStream(7, "bread").draw_bits() for _ in range(2)]

    assert drawn[0] == drawn[1]
    assert drawn[0] != RandomStream(7, "flour").draw_bits()


def test_the_first_words_of_a_stream_never_change() -> None:
    chance = RandomStream(0, "golden")

    assert [chance.draw_below(1000) for _ in range(8)] == [473, 548, 559, 772, 843, 422, 384, 547]


def test_between_includes_both_ends() -> None:
    chance = RandomStream("ends")

    assert {chance.draw_between(3, 5) for _ in range(200)} == {3, 4, 5}


def test_happens_keeps_its_probability() -> None:
    chance = RandomStream("often")

    share = sum(chance.is_hit(0.3) for _ in range(20_000)) / 20_000

    assert abs(share - 0.3) < 0.015


def test_weights_are_kept() -> None:
    chance = RandomStream("weights")

    drawn = Counter(chance.choose_by_weight([1, 3]) for _ in range(20_000))

    assert abs(drawn[1] / drawn[0] - 3) < 0.2


def test_a_bag_gives_everything_before_it_gives_anything_again() -> None:
    bag = ShuffleBag(6, RandomStream("bag"))

    rounds = [sorted(bag.draw() for _ in range(6)) for _ in range(3)]

    assert rounds == [[0, 1, 2, 3, 4, 5]] * 3
