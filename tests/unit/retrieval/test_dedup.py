"""What a new fact is to a stored one, by similarity and words, in four languages."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.errors import ConfigurationError
from discreet.retrieval.dedup import DedupThresholds, judge

SURE = 1.0
"""As near as two vectors can be: what words forbid is forbidden here too."""
NEAR = 0.87
FAR = 0.78
"""Below the threshold for a merge, where most updates lie with the local model."""

OTHER_ENTITY = [
    ("User's daughter Lan was born in 2015.", "User's son Minh was born in 2018."),
    ("My daughter Emma is 7.", "My daughter Julia is 4."),
    ("I have a dog called Rex.", "I have a cat called Luna."),
    ("Ann is allergic to peanuts.", "Ann is allergic to shellfish."),
    ("User is allergic to peanuts.", "User has a shellfish allergy."),
    ("User visited Rome in 2019.", "User visited Lisbon in 2022."),
    ("My friend Carla moved to Chile.", "My friend Dan moved to Norway."),
    ("Ann likes jazz.", "Bob likes jazz."),
    ("User's colleague Bob handles the invoices.", "User's colleague Priya handles the contracts."),
    ("User has a rabbit called Snow.", "Nadia has a rabbit called Snow."),
    ("The dentist appointment is on Monday at 10:30.", "The dentist appointment is on Monday."),
    ("User is allergic to peanuts and shellfish.", "User is allergic to peanuts."),
    ("Дочь пользователя Лена родилась в 2015 году.", "Сын пользователя Миша родился в 2018 году."),
    ("Моей дочери Эмме 7 лет.", "Моей дочери Юле 4 года."),
    ("У пользователя аллергия на орехи.", "У пользователя аллергия на пенициллин."),
    ("Пользователь говорит по-португальски.", "Пользователь говорит по-немецки."),
    ("Я не ем свинину.", "Я не ем молочное."),
    ("Con gái Lan của người dùng sinh năm 2015.", "Con trai Minh của người dùng sinh năm 2018."),
    ("Người dùng bị dị ứng đậu phộng.", "Người dùng bị dị ứng hải sản."),
    ("Mẹ của người dùng là giáo viên.", "Bố của người dùng là thợ sửa ống nước."),
    ("Bạn tôi tên Cúc chuyển sang Chile.", "Bạn tôi tên Dũng chuyển sang Na Uy."),
    ("用户的女儿小兰2015年出生。", "用户的儿子小明2018年出生。"),
    ("我女儿艾玛7岁。", "我女儿朱莉4岁。"),
    ("用户对花生过敏。", "用户对海鲜过敏。"),
    ("用户喜欢黑巧克力。", "用户喜欢草莓。"),
    ("用户对花生过敏。", "小安对花生过敏。"),
    ("我奶奶得过乳腺癌。", "我爷爷得过中风。"),
]

NEVER_THE_SAME = [
    ("User lives in Hanoi.", "User lives in Hue."),
    ("user lives in hanoi with two kids and teaches maths", "user lives in saigon with two kids and teaches physics"),
    ("I weigh 82 kg.", "I weigh 76 kg."),
    ("I paid $50.", "I paid €50."),
    ("It was 5 degrees.", "It was -5 degrees."),
    ("User codes in C.", "User codes in C++."),
    ("I like coriander.", "I don't like coriander."),
    ("I like coriander.", "I hate coriander."),
    ("User prefers tea over coffee.", "User prefers coffee over tea."),
    ("Ann likes tea, but not coffee.", "Ann likes coffee, but not tea."),
    ("User prefers dark mode.", "User prefers light mode."),
    ("Call on Monday at 9.", "Call on Tuesday at 9."),
    ("The flight is on 3 May.", "The flight is on 3 June."),
    ("User has two cats.", "User has three cats."),
    ("My boss is Henrik.", "My boss is Olga."),
    ("Ann is engaged to Mark.", "Ann is married to Mark."),
    ("Пользователь живёт в Казани.", "Пользователь живёт в Самаре."),
    ("Я люблю кинзу.", "Я не люблю кинзу."),
    ("У меня две кошки.", "У меня три кошки."),
    ("Приём в среду в 10:30.", "Приём в четверг в 10:30."),
    ("Người dùng sống ở Hà Nội.", "Người dùng sống ở Hà Giang."),
    ("Tôi thích rau mùi.", "Tôi không thích rau mùi."),
    ("Họp vào thứ Hai.", "Họp vào thứ Ba."),
    ("Tập gym ba buổi một tuần.", "Tập gym hai buổi một tuần."),
    ("用户住在上海。", "用户住在海口。"),
    ("用户住在成都。", "用户住在成安。"),
    ("我喜欢香菜。", "我不喜欢香菜。"),
    ("牙医预约在周一。", "牙医预约在周二。"),
    ("我有两只猫。", "我有三只猫。"),
]

SAME = [
    ("User lives in Hanoi.", "user lives in Hanoi"),
    ("User lives in Hanoi.", "The user resides in Hanoi."),
    ("I have two cats called Miso and Tofu.", "My two cats are named Miso and Tofu."),
    ("Пользователь живёт в Казани.", "Пользователь проживает в Казани"),
    ("Я работаю по пятницам из дома.", "По пятницам я работаю удалённо."),
    ("Người dùng sống ở Hà Nội.", "Người dùng cư trú tại Hà Nội."),
    ("用户住在河内。", "用户居住于河内。"),
]

REWORDED = [
    (
        "My sister and I share a rented flat close to the harbour.",
        "I rent an apartment near the harbour with my sister.",
    ),
    ("User has migraines.", "User often gets migraine headaches."),
    ("User plans a trip to Japan.", "User plans a trip to Japan in May with Ann."),
    ("Пользователь принимает метформин от диабета.", "От диабета пользователь пьёт метформин."),
    ("Chị Lan bị dị ứng đậu phộng.", "Chị Lan dị ứng với đậu phộng từ nhỏ."),
    ("我和妹妹在港口附近合租公寓。", "我跟妹妹一起租了一套靠近港口的公寓。"),
]

EXCLUDE_EACH_OTHER = [
    ("User lives in Hanoi.", "User moved to Da Nang."),
    ("User works at Siemens.", "User started a new job at Bosch."),
    ("I smoke a pack a day.", "I quit smoking three months ago."),
    ("User drinks three cups of coffee a day.", "User no longer drinks coffee."),
    ("My favourite dish is lasagna.", "My favourite dish is pad thai."),
    ("User prefers dark mode.", "User prefers light mode."),
    ("The project deadline is 30 April.", "The project deadline is 15 May."),
    ("My boss is called Henrik.", "My boss is Olga since Henrik left."),
    ("User drives a Volvo.", "User sold the Volvo and drives a Tesla."),
    ("Пользователь живёт в Казани.", "Пользователь переехал в Самару."),
    ("Пользователь болеет за Спартак.", "Пользователь больше не болеет за Спартак."),
    ("Анна помолвлена с Марком.", "Анна вышла замуж за Марка."),
    ("Моё любимое блюдо — борщ.", "Моё любимое блюдо — плов."),
    ("Người dùng sống ở Hà Nội.", "Người dùng đã chuyển đến Đà Nẵng."),
    ("Tôi nặng 82 kg.", "Bây giờ tôi nặng 76 kg."),
    ("Anh Bình sợ chó.", "Anh Bình hết sợ chó rồi."),
    ("用户住在河内。", "用户搬到了岘港。"),
    ("用户每天喝三杯咖啡。", "用户不再喝咖啡了。"),
    ("小安单身。", "小安在和彼得交往。"),
    ("老陈怕狗。", "老陈不怕狗了。"),
]


@pytest.mark.parametrize(("old", "new"), OTHER_ENTITY)
@pytest.mark.parametrize("similarity", [NEAR, SURE])
def test_a_fact_about_somebody_or_something_else_is_never_merged(old: str, new: str, similarity: float):
    assert judge(new, old, similarity) in {"new", "conflict"}


@pytest.mark.parametrize(("old", "new"), NEVER_THE_SAME)
def test_another_number_name_place_or_a_negation_is_never_the_same(old: str, new: str):
    assert judge(new, old, SURE) != "same"
    assert judge(old, new, SURE) != "same"


@pytest.mark.parametrize(("old", "new"), SAME)
def test_a_fact_said_again_is_the_same(old: str, new: str):
    assert judge(new, old, SURE) == "same"


@pytest.mark.parametrize(("old", "new"), REWORDED)
def test_a_similar_fact_that_loses_nothing_is_merged(old: str, new: str):
    assert judge(new, old, NEAR) in {"same", "update"}


def test_a_fact_in_other_words_is_the_same_from_the_upper_threshold_on():
    old, new = "User lives in Hanoi.", "The user resides in Hanoi."
    assert judge(new, old, SURE) == "same"
    assert judge(new, old, NEAR) == "update"


@pytest.mark.parametrize(("old", "new"), REWORDED)
def test_a_reworded_fact_far_below_the_threshold_is_new(old: str, new: str):
    assert judge(new, old, 0.55) == "new"


@pytest.mark.parametrize(("old", "new"), EXCLUDE_EACH_OTHER)
def test_facts_that_exclude_each_other_are_both_kept_and_flagged_below_the_threshold(old: str, new: str):
    assert judge(new, old, FAR) == "conflict"


@pytest.mark.parametrize(("old", "new"), EXCLUDE_EACH_OTHER)
def test_facts_that_exclude_each_other_are_never_independent_above_the_threshold(old: str, new: str):
    assert judge(new, old, NEAR) in {"update", "conflict"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User lives in Hanoi.", "User moved to Da Nang."),
        ("Пользователь живёт в Казани.", "Пользователь переехал в Самару."),
        ("Người dùng sống ở Hà Nội.", "Người dùng đã chuyển đến Đà Nẵng."),
        ("用户住在河内。", "用户搬到了岘港。"),
    ],
)
def test_a_change_that_is_said_supersedes(old: str, new: str):
    assert judge(new, old, NEAR) == "update"


def test_a_new_value_behind_the_same_placeholder_is_not_the_same():
    assert judge("User's new number is <PHONE>.", "User's number is <PHONE>.", SURE) == "update"


def test_what_is_said_to_hold_besides_excludes_nothing():
    assert judge("User also works at Bosch.", "User works at Siemens.", NEAR) == "new"


def test_how_it_was_once_excludes_nothing():
    assert judge("User used to live in Paris.", "User lives in Hanoi.", NEAR) == "new"


@pytest.mark.parametrize(("same", "similar"), [(0.8, 0.9), (1.1, 0.9), (0.9, -0.1)])
def test_thresholds_out_of_order_are_refused(same: float, similar: float):
    with pytest.raises(ConfigurationError):
        DedupThresholds(same=same, similar=similar)


def test_thresholds_move_the_verdicts():
    strict = DedupThresholds(same=1.0, similar=0.99)
    assert judge("The user resides in Hanoi.", "User lives in Hanoi.", 0.97) == "same"
    assert judge("The user resides in Hanoi.", "User lives in Hanoi.", 0.97, strict) == "update"


WORDS = [
    "user",
    "User",
    "lives",
    "moved",
    "to",
    "Hanoi",
    "5",
    "12:30",
    "not",
    "no",
    "longer",
    "my",
    "son",
    "Lan",
    "<EMAIL>",
]
WORDS += ["住在", "不", "了", "我的", "女儿", "小", "上海", "живёт", "не", "tôi", "con", "gái", "không", "thứ", "hai"]
WORDS += ["'x", "-", "—", ".", ":", "C++", "$"]
TEXTS = st.one_of(
    st.text(max_size=80),
    st.lists(
        st.sampled_from(WORDS),
        max_size=14,
    ).map(" ".join),
)


@given(text=TEXTS, similarity=st.floats(0, 1))
@example(text="", similarity=0.0)
def test_a_text_is_the_same_as_itself_whatever_the_cosine(text: str, similarity: float):
    assert judge(text, text, similarity) == "same"


@given(new=TEXTS, old=TEXTS, similarity=st.floats(0, 1))
def test_any_two_texts_get_a_verdict(new: str, old: str, similarity: float):
    assert judge(new, old, similarity) in {"same", "update", "conflict", "new"}


@given(before=TEXTS, after=TEXTS, digit=st.integers(0, 8))
@example(before="", after="½", digit=1)
@example(before="Has", after="cats, 2 of them black", digit=1)
def test_another_digit_is_never_the_same(before: str, after: str, digit: int):
    assert judge(f"{before} {digit} {after}", f"{before} {digit + 1} {after}", SURE) != "same"


COMPOUND_MEETS_UPDATE = [
    ("My name is Linh, I live in Hanoi and I like coffee.", "I moved to Berlin."),
    ("I moved to Berlin and work at Bosch", "I live in Hanoi"),
    ("Tên tôi là Linh, tôi sống ở Hà Nội và tôi thích cà phê", "Tôi đã chuyển đến Berlin"),
    ("Меня зовут Линь, я живу в Ханое и люблю кофе", "Я переехала в Берлин"),
    ("我叫小林，我住在河内，我喜欢咖啡", "我搬到柏林了"),
]


@pytest.mark.parametrize(("old", "new"), COMPOUND_MEETS_UPDATE)
@pytest.mark.parametrize("similarity", [0.58, FAR, NEAR, SURE])
def test_an_update_of_one_of_several_statements_is_a_conflict_and_ends_none_of_the_others(old, new, similarity):
    assert judge(new, old, similarity) == "conflict"


def test_several_statements_that_say_all_of_several_take_their_place():
    old = "I live in Hanoi and I like coffee."
    for new in ("I live in Hanoi and I like black coffee.", "I like coffee and I live in Hanoi"):
        assert judge(new, old, SURE) in ("same", "update")


TOLD_APART = [
    ("User has arthritis in the left hip.", "User has arthritis in the right hip."),
    ("My first marriage ended in divorce.", "My second marriage ended in divorce."),
    ("User's elder daughter plays chess.", "User's younger daughter plays chess."),
    ("I visited Rome in 2019.", "I visited Rome in 2022."),
    ("I lived in Spain as a child.", "I lived in Spain as a student."),
    ("User speaks English fluently.", "User speaks French fluently."),
    ("User's old Volvo needs new brakes.", "User's new Skoda needs new brakes."),
    ("User has a fear of flying.", "My boss is afraid of flying."),
    ("User is an only child.", "User has one child."),
    ("I'm looking for a new job.", "I'm looking for a new flat."),
    ("User can eat eggs.", "User can't eat raw eggs."),
    ("Моя старшая сестра живёт в Перми.", "Моя младшая сестра живёт в Перми."),
    ("В январе мы ездим к бабушке.", "В августе мы ездим к бабушке."),
    ("У пользователя аллергия на орехи.", "У Анны аллергия на орехи."),
    ("Người dùng nghe kém tai phải.", "Người dùng nghe kém tai trái."),
    ("Anh trai tôi là kỹ sư.", "Em trai tôi là kỹ sư."),
    ("toi noi duoc tieng anh", "toi noi duoc tieng phap"),
    ("Tôi sống ở Huế với bố mẹ.", "Bố mẹ tôi có một khách sạn nhỏ ở Huế."),
    ("大女儿在学中文。", "小女儿在学中文。"),
    ("我左膝盖疼。", "我右膝盖疼。"),
    ("我小时候住在西安。", "我住在西安。"),
    ("国强每周一值夜班。", "国强每周五值夜班，跟周一一样。"),
]


@pytest.mark.parametrize(("old", "new"), TOLD_APART)
@pytest.mark.parametrize("similarity", [NEAR, SURE])
def test_of_facts_that_a_value_or_whose_they_are_tells_apart_none_is_lost(old: str, new: str, similarity: float):
    assert judge(new, old, similarity) in {"new", "conflict"}
    assert judge(old, new, similarity) in {"new", "conflict"}


OTHER_WORDS = [
    ("I ride my bike to work.", "User commutes by bicycle."),
    ("I don't drink alcohol.", "User never touches alcohol."),
    ("I'm scared of heights.", "Heights frighten me."),
    ("My husband is a pilot.", "I am married to a pilot."),
    ("Я вырос на ферме.", "Моё детство прошло на ферме."),
    ("Я учу японский.", "Пользователь изучает японский язык."),
    ("Chồng tôi là phi công.", "Tôi lấy chồng phi công."),
    ("Tôi đang học tiếng Nhật.", "Người dùng theo học tiếng Nhật."),
    ("我恐高。", "用户怕高。"),
    ("我不會游泳。", "用户是旱鸭子。"),
]


@pytest.mark.parametrize(("old", "new"), OTHER_WORDS)
def test_the_same_in_other_words_is_merged_below_the_threshold(old: str, new: str):
    assert judge(new, old, FAR) in {"same", "update"}


def test_a_fact_that_says_a_little_less_refreshes_the_stored_one():
    assert (
        judge("User walks the dog before breakfast.", "I walk the dog round the lake before breakfast.", NEAR) == "same"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I have never eaten an oyster in my life.", "Ate my first oysters on Saturday."),
        ("We decided to marry in Venice.", "We decided to get married in Prague instead."),
        ("Геннадий ездит на «Ниве».", "Геннадий отдал «Ниву» племяннику."),
        ("Tôi chưa bao giờ ra nước ngoài.", "Tôi vừa về từ chuyến đi nước ngoài đầu tiên."),
        ("我每天抽半包烟。", "我过年以后就没抽过烟。"),
    ],
)
def test_what_may_have_changed_is_flagged(old: str, new: str):
    assert judge(new, old, FAR) == "conflict"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "I bake rye bread every winter from my aunt's recipe",
            "For recipes, list what I need by weight in grams, never in cups",
        ),
        (
            "Our flight to Oslo leaves at 22:40 from the second terminal",
            "In Oslo we stay with a retired baker, no hotel",
        ),
        ("My van needs new rear brakes before the holidays", "The parking permit of my van has run out this week"),
        (
            "Мою дачу под Калугой построил ещё мой дед сразу после войны",
            "На даче больше не хочу сажать картошку, только яблони с сиренью",
        ),
        ("公司三楼的会议室昨天换了新的投影仪", "我在公司附近再也不吃那家面馆了，太咸"),
    ],
)
def test_one_word_of_many_in_common_is_no_reason_to_flag(old, new):
    assert judge(new, old, 0.65) == "new"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I run twenty-five kilometres every week", "I run five kilometres every week"),
        ("Ten thousand steps a day is my goal", "Ten steps a day is my goal"),
        ("Я прохожу двадцать пять этажей пешком", "Я прохожу двадцать этажей пешком"),
        ("Tôi leo ba tầng mỗi sáng", "Tôi leo ba mươi tầng mỗi sáng"),
        ("我每天早上走三公里", "我每天早上走三十公里"),
        ("My grandson's birthday is on the third of June", "My granddaughter's birthday is on the third of June"),
        ("My sister lives in a flat in Leeds", "My half-sister lives in a flat in Leeds"),
        ("Мой внук живёт в Самаре и звонит по выходным", "Моя внучка живёт в Самаре и звонит по выходным"),
        ("我表哥住在苏州，每周给我打电话", "我堂哥住在苏州，每周给我打电话"),
        ("Tôi bị tiểu đường tuýp 2", "Ông bị tiểu đường tuýp 2"),
        ("toi bi tieu duong tuyp 2", "vo toi bi tieu duong tuyp 2"),
        ("Xe đạp của tôi màu xanh", "Xe đạp của Lan màu xanh"),
        ("Xe đạp của vợ tôi màu xanh", "Xe đạp của em vợ tôi màu xanh"),
    ],
)
@pytest.mark.parametrize("similarity", [0.9, 0.97])
def test_another_number_relative_or_owner_takes_the_place_of_none(old, new, similarity):
    for one, other in ((old, new), (new, old)):
        assert judge(other, one, similarity) in ("new", "conflict")
