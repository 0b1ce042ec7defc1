"""People are replaced consistently, in every form of their names, and nothing else is."""

import re
import unicodedata

from recall_bench.features.histories.history_message import Participant
from recall_bench.features.histories.pseudonyms import Pseudonymiser, PseudonymMap


def learn(
    *people: Participant, seed: str = "7", any_case: bool = False, with_domains: bool = False
) -> Pseudonymiser:
    found = Pseudonymiser(seed=seed, any_case=any_case, with_domains=with_domains)
    found.learn_people(people)
    return found


ANA = Participant("a", "Ana Ruiz", {"ana@ruiz.example"}, {"ana_r92"}, {"+49 170 1234567"})
BO = Participant("b", "Bo O'Brien")


def test_a_name_is_the_same_in_every_form() -> None:
    names = learn(ANA, BO)
    ana, ruiz, brien = names.names["ana"], names.names["ruiz"], names.names["o'brien"]

    text = names.replace("Ana Ruiz wrote. Ana's plan; ANA, Ána and (Ruiz). Bo O’Brien's car.")

    assert text == (
        f"{ana} {ruiz} wrote. {ana}'s plan; {ana.upper()}, {ana} and ({ruiz}). "
        f"{names.names['bo']} {brien}'s car."
    )
    assert names.counts == {"names": 8}


def test_only_whole_words_are_names() -> None:
    text = "Banana, Anaconda, Susana, ana, Bond and a Box."

    assert learn(ANA, BO).replace(text) == text


def test_names_in_lower_case_are_replaced_on_request_alone() -> None:
    kept, replaced = learn(ANA), learn(ANA, any_case=True)

    assert kept.replace("ask ana") == "ask ana"
    assert kept.left == {"ana": 1}
    assert replaced.replace("ask ana") == f"ask {replaced.names['ana'].lower()}"


def test_names_that_are_words_need_a_name_beside_them_or_a_place_inside_a_sentence() -> None:
    names = learn(Participant("m", "May Will"))
    may, will = names.names["may"], names.names["will"]

    text = names.replace("Will you come on 3 May? I met May Will. We trust Will.")

    assert text == f"Will you come on 3 May? I met {may} {will}. We trust {will}."
    assert names.left == {"Will": 1, "May": 1}


def test_addresses_numbers_handles_and_users_in_urls_are_replaced() -> None:
    names = learn(ANA)
    ana, ruiz = names.names["ana"].lower(), names.names["ruiz"].lower()

    text = names.replace(
        "Mail ana@ruiz.example or x.y@host.example, call +49 170 1234567 or 030 1234 5678, "
        "ask @ana_r92 or ana_r92, see https://github.com/someone/repo and https://u:p@host.example/a"
    )

    assert f"Mail {ana}.{ruiz}@ruiz.example or " in text
    for original in ("x.y@", "1234567", "1234 5678", "ana_r92", "someone", "u:p"):
        assert original not in text
    assert "@host.example" in text
    assert names.replace("+49 170 1234567") in text
    assert names.counts["URL users"] == 2


def test_dates_times_sums_and_ids_are_no_phone_numbers() -> None:
    text = (
        "05.03.2024 12:30, 05/03/2024 12:30, 2024-03-05, 0.123456789, 4,180 euros, 17:45, "
        "invoice 123456789012, version 1.2.3.4, 192.168.100.200, 03-04-2024"
    )

    assert learn(ANA).replace(text) == text


def test_domains_are_replaced_on_request() -> None:
    names = learn(ANA, with_domains=True)

    text = names.replace("ana@ruiz.example and https://www.ruiz.example/x")

    assert "ruiz" not in text.split("@")[1]
    assert names.domains["ruiz.example"] in text


def test_pseudonyms_depend_on_the_seed_and_the_name_alone() -> None:
    alone, beside, other = learn(ANA), learn(BO, ANA), learn(ANA, seed="8")

    assert alone.names["ana"] == beside.names["ana"] != other.names["ana"]


def test_a_map_goes_on_with_what_it_holds() -> None:
    known = PseudonymMap(seed="7", names={"ana": "Zora"})
    names = Pseudonymiser.from_map(known, any_case=False, with_domains=False)
    names.learn_people([ANA])

    assert names.replace("Ana Ruiz").startswith("Zora ")
    assert names.make_map().names["ana"] == "Zora"


def test_agents_and_automatic_senders_keep_their_names() -> None:
    bot = Participant("c", "ChatGPT", is_agent=True)
    shop = Participant("s", "Garden Shop", {"no-reply@shop.example"})
    names = learn(bot, shop)

    assert names.replace("ChatGPT ordered at Garden Shop") == "ChatGPT ordered at Garden Shop"
    assert names.rename(bot) == "ChatGPT"


def test_a_participant_is_renamed_whatever_the_case() -> None:
    person = Participant("x", "ana ruiz")
    names = learn(person)

    assert names.rename(person) == f"{names.names['ana']} {names.names['ruiz']}"


def test_names_without_blanks_between_them_are_found() -> None:
    names = learn(Participant("t", "田中"))

    assert names.replace("明日は田中さんと会う") == f"明日は{names.names['田中']}さんと会う"


def test_pairs_of_words_that_may_be_names_are_counted() -> None:
    names = learn(ANA)

    names.replace("I met Maria Lopez and Ana Ruiz. Then Maria Lopez left on Monday March.")

    assert names.candidates == {"Maria Lopez": 2}


def test_no_person_gets_the_name_of_another() -> None:
    people = [Participant(str(number), f"Name{chr(97 + number % 26)}{chr(97 + number // 26)}")
              for number in range(400)]  # fmt: skip
    names = learn(*people)

    assert len(set(names.names.values())) == len(names.names) == 400


def test_people_in_urls_are_replaced_also_where_they_are_encoded() -> None:
    names = learn(Participant("b", "Bob Meyer", {"bob@x.example"}, {"bmeyer"}))
    bob, meyer = names.names["bob"], names.names["meyer"]
    address = f"{bob}.{meyer}@x.example".lower()

    text = names.replace(
        "https://list.example/off?email=bob@x.example&n=Bob https://list.example?to=bob@x.example "
        "http://cal/bob%40x.example/a http://cal/go?u=https%3A%2F%2Fy%2F%3Fm%3Dbob%2540x.example "
        "http://cal/bob-meyer/2024?owner=bmeyer"
    )

    assert "bob" not in text.lower()
    assert "meyer" not in text.lower().replace(meyer.lower(), "")
    assert f"/off?email={address}&n={bob} https://list.example?to={address} " in text
    assert f"/{address.replace('@', '%40')}/a" in text


def test_urls_without_people_stay_as_they_are() -> None:
    text = "https://a.example/will/0301234567/x%20y?may=%C3%A4&z=06.12.34.56.78#Part"

    assert learn(ANA, Participant("m", "May Will")).replace(text) == text


def test_known_numbers_are_found_however_they_are_written() -> None:
    number = "+1 (631) 555\u20111234"
    people = [Participant("1", phones={"600 112 233", "06 12 34 56 78"}),
              Participant("2", "9876543210", phones={"9876543210"}),
              Participant("3", number, phones={number})]  # fmt: skip
    names = learn(*people)

    for text in (
        "600112233", "600 112 233", "600.112.233", "06.12.34.56.78", "98765 43210", "631.555.1234",
        "631 555 1234", "+1 631 555\u20131234", number,
    ):  # fmt: skip
        assert names.replace(f"12 or {text}, 34") != f"12 or {text}, 34", text
    assert names.replace("600 112 234 and 1600112233") == "600 112 234 and 1600112233"
    assert names.rename(people[1]) == names.replace("9876543210") != "9876543210"
    assert names.rename(Participant("4", "555 12")) != "555 12"
    made = re.findall(r"\d+", names.rename(people[2]))
    assert not {"631", "555", "1234"} & set(made)


def test_names_inside_longer_words_are_found() -> None:
    names = learn(Participant("b", "Bob Meyer"))
    bob, meyer = names.names["bob"], names.names["meyer"]

    text = names.replace("Bob_Meyer.pdf, BobMeyer, bob_meyer2, Meyer\u02bcs, Bob7; bob_x, Bobby")

    assert text == (
        f"{bob}_{meyer}.pdf, {bob}{meyer}, {bob}_{meyer}2, {meyer}\u02bcs, {bob}7; bob_x, Bobby"
    )


def test_an_account_that_is_the_only_name_is_found_in_texts() -> None:
    people = [Participant(name, name) for name in ("ana_ruiz92", "eve.k", "ana_ruiz93")]
    names = learn(*people)
    made = [names.rename(person) for person in people]

    assert len(set(made)) == 3
    assert not any("92" in each or "eve" in each for each in made)
    assert names.replace("thanks ana_ruiz92!") == f"thanks {made[0]}!"
    for _ in range(2):
        assert names.replace("ask eve.k.") == f"ask {made[1]}."


def test_accents_may_be_marks_of_their_own() -> None:
    composed = "Call María Núñez"
    names = learn(Participant("m", unicodedata.normalize("NFD", "María Núñez")))

    made = names.replace(unicodedata.normalize("NFD", composed))

    assert made == names.replace(composed) == f"Call {names.names['maria']} {names.names['nunez']}"


def test_a_label_holds_names_in_any_case_and_place() -> None:
    names = learn(Participant("g", "Grace"), Participant("b", "Bob Meyer", handles={"bob"}))
    grace, bob = names.names["grace"], names.names["bob"]

    assert names.replace("Grace") == "Grace"
    assert names.replace_label("Grace, bob") == f"{grace}, {bob}"
    assert names.replace_label("#2024") == "#2024"
