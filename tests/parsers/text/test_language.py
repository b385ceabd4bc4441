"""The language of a text is identified, and a text in another language is noticed."""

import json
import unicodedata
from itertools import product
from pathlib import Path

import pytest

from depkit.corpus.io import read
from depkit.parsers.model_card import read_card_facts
from depkit.parsers.model_directory import BUNDLED, ModelError, bundled_models
from depkit.parsers.text.language import (
    FOREIGN_LETTERS,
    Counts,
    Profile,
    choose_model,
    find_clear_language,
    find_other_language,
    is_unlike_language,
    may_be_language,
    normalize,
    read_profiles,
)
from tests.bench.profiles import make_profile, to_json

TEXTS = {
    "en": "The old house near the river was sold last week because nobody wanted to live there.",
    "de": "Das alte Haus am Fluss wurde letzte Woche verkauft, weil niemand dort wohnen wollte.",
    "cs": "Starý dům u řeky byl minulý týden prodán, protože v něm nikdo nechtěl bydlet.",
    "fr": "La vieille maison près de la rivière a été vendue, car personne ne voulait y vivre.",
    "ja": "川の近くの古い家は、誰も住みたがらなかったので、先週売られました。" * 3,
}
ENGLISH, GERMAN = TEXTS["en"], TEXTS["de"]
DATA = Path(__file__).parents[4] / "shared" / "data" / "languages"


def test_letters_without_case_are_counted():
    assert normalize("  It's 5 O'CLOCK,\n no?") == " it s o clock no "
    profile = make_profile("x", ["abc"] * 10)
    assert profile.trigrams.keys() == {" ab", "abc", "bc "}
    assert profile.score("ABC!") == pytest.approx(-1.0986, abs=1e-3)
    assert profile.score("cab") == pytest.approx(profile.other) and profile.other < profile.low


def test_letters_that_a_language_does_not_have_lower_its_score():
    assert normalize("Ｓe\u0301e שָׁלוֹם ISPARTA ısı") == " ｓée שלום isparta isi "
    profile = make_profile("x", ["abc"] * 10)
    assert (profile.script, profile.letters.keys()) == ("LATIN", set("abc"))
    assert profile.score("xyz") == pytest.approx(profile.other - FOREIGN_LETTERS)
    assert profile.score("яяя") == pytest.approx(profile.other)  # those of other scripts do not
    assert not profile.is_script_of(Counts.of("яяя")) and profile.is_script_of(Counts.of("яяxx"))
    assert profile.count_missing(Counts.of("ab ab ab")) == pytest.approx(2 / 3)


def test_a_letter_is_read_as_an_equivalent_one_of_the_alphabet():
    comma, cedilla = make_profile("x", ["așa"] * 10), make_profile("y", ["aşa"] * 10)
    for profile, text in product([comma, cedilla], ["așa", "aşa"]):
        assert profile.score(text) == pytest.approx(-1.0986, abs=1e-3)
        counts = Counts.of(text)
        assert profile.foreign_share(profile.read(counts)) == profile.count_missing(counts) == 0


EQUIVALENT_LETTERS = {
    "ro": ("șțȘȚ", "şţŞŢ", "Bunica și-a pus ochelarii și a citit toată scrisoarea în fața casei;"
    " știa că băieții se întorc în câteva zile și le-a pregătit niște plăcinte."),
    "fa": ("یک", "يك", "مادربزرگ عینکش را زد و نامه را در حیاط خواند. او می‌دانست که بچه‌ها تا چند"
    " روز دیگر برمی‌گردند و برای آنها کیک پخت."),
}  # fmt: skip


@pytest.mark.parametrize("code", EQUIVALENT_LETTERS)
def test_a_language_is_found_in_either_spelling(code):
    letters, others, text = EQUIVALENT_LETTERS[code]
    other_text = text.translate(str.maketrans(letters, others))
    assert other_text != text and find_clear_language(other_text) == code
    assert find_other_language(other_text, code) is None
    assert may_be_language(other_text, code) and not is_unlike_language(other_text, code)


def test_a_profile_is_read_as_it_was_written():
    profile = make_profile("a mixture", [ENGLISH, GERMAN] * 20)
    copy = Profile(**json.loads(to_json(profile)))
    assert copy.name == "a mixture" and copy.trigrams.keys() == profile.trigrams.keys()
    assert copy.score(ENGLISH) == pytest.approx(profile.score(ENGLISH), abs=0.01)


def test_every_bundled_model_has_a_profile_of_its_language():
    profiles = read_profiles()
    for model in bundled_models():
        facts = read_card_facts(BUNDLED / model)
        assert profiles[facts["language"]].name == facts["language_name"]
    assert all(profile.other < profile.low < 0 for profile in profiles.values())


@pytest.mark.parametrize("text", ["Guten Tag", "", "12345 67890 " * 50, "?!" * 100])
def test_a_short_text_gives_no_warning(text):
    assert find_other_language(text, "en") is None


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("Le garçon a acheté un livre à la librairie.", "fr"),
        ("Der Junge hat ein Buch gekauft.", "de"),
        ("Mañana vamos a la playa.", "es"),
        ("The boy bought a book.", "en-ewt"),
        ("O menino comprou um livro na livraria.", "pt"),
        ("少年は本屋で新しい本を買って、それから家に帰りました。", "ja"),
        ("Il ragazzo ha comprato un libro.", "it"),
        ("Poika osti kirjan.", "fi"),
    ],
)
def test_one_sentence_is_enough_to_choose_a_model(text, model):
    assert choose_model(text) == model


@pytest.mark.parametrize("language", TEXTS)
def test_the_language_of_a_text_is_found(language):
    text = TEXTS[language]
    assert may_be_language(text, language)
    for expected in ("en", "de", "fi", "ja"):
        assert find_other_language(text, expected) == (language if expected != language else None)
    assert find_other_language(text, "xx") is None  # there is no profile to compare with


def test_noise_of_web_text_is_no_other_language():
    text = TEXTS["en"].upper() + " lol :-) omg http://www.example.com/a?b=c thx!!! soooo gooood"
    assert find_other_language(text, "en") is None


@pytest.mark.parametrize("language", TEXTS)
def test_a_clear_language(language):
    assert find_clear_language(TEXTS[language]) == language
    assert find_clear_language(TEXTS[language].upper()) == language


@pytest.mark.parametrize(
    "text",
    [
        "Ddoe buom ni'n gweithio yn yr ardd drwy'r dydd, a gyda'r nos roedd pawb wedi blino.",
        "昨天我们整天都在花园里工作，晚上大家都很累，但是没有人想在晚饭前去睡觉。" * 3,
        "qwxz jkvq zzxw pqkj vbnx qqwz kjxv zxqj wqzx vkjq pxzq jqxk zvwq xkqj qzxv jwqk xzqv",
        f"{ENGLISH} {GERMAN}", "Hi.", "", "1, 2, 3, 4 " * 100,
    ],
)  # fmt: skip
def test_a_language_that_is_not_clear(text):
    assert find_clear_language(text) is None
    with pytest.raises(ModelError, match=r"not clear in which language .*English \(en-ewt\)"):
        choose_model(text)


def test_a_model_is_chosen():
    assert choose_model(ENGLISH) == "en-ewt" and choose_model(GERMAN) == "de"


NO_MODEL = {
    "hu": "Ma reggel a gyerekek elmentek a régi iskolába, aztán hazajöttek, és finom ebédet"
    " ettek a nagymamával, aki már egy órája várt rájuk.",
    "ca": "Aquest matí els nens han anat a l'escola vella, després han tornat a casa i han fet"
    " un bon dinar amb l'àvia, que els esperava des de feia una hora.",
    "sr": "Јутрос су деца отишла у стару школу, затим су се вратила кући и појела укусан ручак"
    " са баком, која их је чекала већ сат времена.",
    "bg": "Тази сутрин децата отидоха в старото училище, после се върнаха вкъщи и изядоха"
    " вкусен обяд с баба си, която ги чакаше от един час насам. Слънцето грееше, а вятърът беше"
    " съвсем слаб, затова седнаха навън под дървото. Вечерта дядо им разказа приказка за мъдрия"
    " цар, чиято дъщеря умеела да разговаря с птиците. Накрая всички заспаха дълбоко, докато"
    " луната осветяваше градината, покрива на къщата и далечните хълмове край реката.",
    "be": "Сёння раніцай дзеці пайшлі ў старую школу, потым вярнуліся дадому і з'елі смачны"
    " абед з бабуляй, якая чакала іх ужо гадзіну.",
    "sk": "Dnes ráno išli deti do starej školy, potom sa vrátili domov a zjedli chutný obed so"
    " starou mamou, ktorá na ne čakala už hodinu.",
    "et": "Täna hommikul läksid lapsed vanasse kooli, siis tulid nad koju tagasi ja sõid maitsvat"
    " lõunat koos vanaemaga, kes oli neid juba tund aega oodanud.",
    "hr": "Jutros su djeca otišla u staru školu, zatim su se vratila kući i pojela ukusan ručak s"
    " bakom, koja ih je čekala već sat vremena.",
    "lt": "Šįryt vaikai nuėjo į seną mokyklą, paskui grįžo namo ir suvalgė skanius pietus su"
    " močiute, kuri jų laukė jau valandą.",
}  # texts of our own in languages without a bundled model


@pytest.mark.parametrize("language", NO_MODEL)
def test_languages_without_a_model_are_not_taken_for_similar_ones_with_one(language):
    text = NO_MODEL[language]
    is_clear = language != "bg"  # which is too similar to ru
    assert find_clear_language(text) == (language if is_clear else None)
    assert {find_other_language(text, code) for code in read_profiles()} <= {None, language}
    name = read_profiles()[language].name
    problem = f"seems to be {name}, for which no model is bundled" if is_clear else "is not clear"
    with pytest.raises(ModelError, match=problem):
        choose_model(text)


UNKNOWN = {
    "Arabic": "ذهب الأولاد صباح اليوم إلى المدرسة القديمة، ثم عادوا إلى البيت وأكلوا طعاما لذيذا مع"
    " الجدة التي كانت تنتظرهم منذ ساعة.",
    "Hindi": "आज सुबह बच्चे पुराने विद्यालय गए, फिर घर लौटकर उन्होंने अपनी दादी के साथ स्वादिष्ट भोजन किया जो"
    " एक घंटे से उनकी प्रतीक्षा कर रही थीं।",
    "Vietnamese": "Sáng nay bọn trẻ đến ngôi trường cũ, rồi chúng trở về nhà và ăn một bữa cơm ngon"
    " với bà, người đã đợi chúng suốt một giờ.",
    "Chinese": "今天早上孩子们去了旧学校，然后回家和等了他们一个小时的奶奶一起吃了一顿美味的饭。"
    * 3,
    "Welsh": "Bore heddiw aeth y plant i'r hen ysgol, yna daethant adref a bwyta pryd blasus gyda'u"
    " mam-gu, a oedd wedi bod yn aros amdanynt ers awr.",
    "Yiddish": "די באבע האט אנגעטאן די ברילן און געלייענט דעם בריוו אויפן הויף. זי האט געוואוסט אז"
    " די קינדער וועלן קומען אהיים אין עטלעכע טעג ארום, און זי האט געבאקן א קוכן פאר זיי.",
    "slang": "omg lmao ur so extra rn haha brb gtg ttyl xoxo luv u bestie smh idk wtf rofl ikr nvm",
    "one letter": "a" * 200_000,
    "a table": "Name;Alter;Stadt\nKurt Seidel;31;Nürnberg\nInge Lorenz;28;Düsseldorf\n"
    "Jürgen Pohl;54;Saarbrücken\nUte Krämer;43;Göttingen\nHeike Vogt;37;Würzburg",
}  # texts of our own


@pytest.mark.parametrize("name", UNKNOWN)
def test_no_language_is_named_for_a_text_in_an_unknown_one(name):
    found = {find_other_language(UNKNOWN[name], code) for code in read_profiles()}
    assert found <= ({None, "de"} if name == "a table" else {None})
    assert find_clear_language(UNKNOWN[name]) is None


@pytest.mark.parametrize("name", ["Arabic", "Hindi", "Vietnamese", "Chinese"])
def test_a_text_is_unlike_a_language(name):
    assert is_unlike_language(UNKNOWN[name], "en") and not may_be_language(UNKNOWN[name], "en")
    assert not is_unlike_language(ENGLISH, "en") and may_be_language(ENGLISH, "en")
    assert not is_unlike_language(UNKNOWN[name], "xx")
    assert not may_be_language(UNKNOWN[name], "xx")


def test_similar_languages_do_not_hide_that_letters_are_missing():
    for language in ("sr", "bg", "be"):
        assert not may_be_language(NO_MODEL[language], "ru")


def test_a_script_names_its_language():
    for text, other in product([TEXTS["ja"], "회의는 내일 오후에 시작합니다. " * 6], ("ko", "ja")):
        own = "ja" if text == TEXTS["ja"] else "ko"
        assert find_other_language(text, other) == (own if own != other else None)
    assert find_other_language(TEXTS["ja"], "en") == "ja"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("さようなら、またあした。", "ja"),
        ("カレーが好きだ。", "ja"),
        ("MacとiPadを買いました。", "ja"),
        ("안녕히 가세요", "ko"),
        ("기차는 저녁 7시에 도착합니다.", "ko"),
        ("תודה", "he"),
        ("תּוֹדָה רַבָּה", "he"),
        ("Ґанок", "uk"),
        ("Є хліб.", "uk"),
    ],
)
def test_a_few_letters_of_only_one_language_are_enough(text, code):
    assert find_clear_language(text) == code
    assert find_clear_language(unicodedata.normalize("NFD", text)) == code


@pytest.mark.parametrize("text", ["東京都", "Київ и другие города были очень красивы", "α β γ, x"])
def test_letters_of_several_languages_are_not_enough(text):
    assert find_clear_language(text) in (None, "ru")


def test_accents_and_capitals_do_not_matter():
    text = "Isınan ırmağın kıyısında çocuklar bütün gün balık tuttu, akşam da eve döndüler."
    for variant in (text, unicodedata.normalize("NFD", text), text.replace("i", "İ").upper()):
        assert find_clear_language(variant) == "tr"


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the treebanks in ../shared")
@pytest.mark.parametrize("language", ["af", "de", "en", "fr", "is", "ko", "pt"])
def test_passages_of_treebanks_are_found(language):
    (path, *_) = sorted((DATA / language).glob("*.dev.conllu.gz"))
    texts = [sentence.text for sentence in read(path)]
    starts = range(0, min(200, len(texts)) - 4, 5)
    passages = [" ".join(texts[start : start + 5]) for start in starts]
    own = [find_other_language(text, language) for text in passages]
    assert own.count(None) >= 0.97 * len(passages)
    if language != "en":
        found = [find_other_language(text, "en") for text in passages]
        assert found.count(language) >= 0.95 * len(passages)
