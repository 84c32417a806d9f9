import pytest

from discreet.providers.offline.reading import language_of, read


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I live in Lyon", "en"),
        ("Tôi sống ở Huế", "vi"),
        ("xin chào", "vi"),
        ("Я живу в Казани", "ru"),
        ("我住在北京", "zh"),
        ("我用 iPhone 和 MacBook Pro", "zh"),
        ("My friend 李 lives in a small town", "en"),
        ("Мой ноутбук — MacBook", "ru"),
        ("123 !?", "en"),
        ("", "en"),
    ],
)
def test_the_language_shows_in_script_and_letters(text, language):
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("I keep two parrots.", "I keep two parrots."),
        ("Hi! My name is Minh.", "My name is Minh."),
        ("My dentist is Dr. Smith. He lives 3.5 km away.", "My dentist is Dr. Smith. He lives 3.5 km away."),
        ("When I was ten I moved to Rome", "When I was ten I moved to Rome"),
        ("Don't forget that I'm vegan", "I'm vegan"),
        ("Please remember: my sister is called Lan", "my sister is called Lan"),
        ("Xin chào, tôi tên là Minh.", "tôi tên là Minh."),
        ("Tôi không ăn được gì ngoài cơm", "Tôi không ăn được gì ngoài cơm"),
        ("Hãy nhớ rằng tôi ăn chay", "tôi ăn chay"),
        ("Em bị dị ứng với đậu phộng", "Em bị dị ứng với đậu phộng"),
        ("Привет! Я живу в Казани.", "Я живу в Казани."),
        ("Люблю зелёный чай", "Люблю зелёный чай"),
        ("Как я говорил, я вегетарианец", "Как я говорил, я вегетарианец"),
        ("Запомни, что у меня аллергия на орехи", "у меня аллергия на орехи"),
        ("你好，我叫小明。我养了一只猫。", "我叫小明。我养了一只猫。"),
        ("我什么都吃", "我什么都吃"),
        ("别忘了我对花生过敏", "我对花生过敏"),
        ("I don't remember names well", "I don't remember names well"),
        ("Tôi không nhớ tên ai cả", "Tôi không nhớ tên ai cả"),
        ("Я не запоминаю лица", "Я не запоминаю лица"),
        ("我总是记不住人名", "我总是记不住人名"),
        ("Đừng quên rằng tôi ăn chay", "tôi ăn chay"),
        ("Не забудь, что я веган", "я веган"),
    ],
)
def test_what_the_user_states_about_themselves_is_a_fact_in_their_own_words(text, facts):
    reading = read(text)
    assert (reading.facts, reading.question, reading.forget) == (facts, "", "")


@pytest.mark.parametrize(
    "text",
    [
        "Where do I live?",
        "what was that flying animal of mine",
        "Remind me what my cat is called",
        "Tell me about my family",
        "Do you remember me",
        "Don't you remember my name?",
        "Don't remember what my cat is called?",
        "Tôi sống ở đâu",
        "Con mèo của tôi tên gì",
        "Nhắc tôi sinh nhật mẹ là ngày nào",
        "Bạn có nhớ tôi không",
        "Где я живу?",
        "Как зовут мою кошку",
        "Напомни, где я живу",
        "Есть ли у меня аллергия",
        "我住在哪里",
        "我的猫叫什么名字？",
        "告诉我我妹妹的名字",
        "我对花生过敏吗",
    ],
)
def test_a_question_is_a_question_with_and_without_its_mark(text):
    reading = read(text)
    assert (reading.question, reading.facts) == (text, "")


@pytest.mark.parametrize(
    ("text", "forget"),
    [
        ("Please forget that I live in Lyon.", "I live in Lyon."),
        ("Forget it", "Forget it"),
        ("Can you delete what I told you about my sister?", "my sister?"),
        ("Hãy quên rằng tôi sống ở Huế", "tôi sống ở Huế"),
        ("Забудь, что я живу в Казани", "я живу в Казани"),
        ("请忘记我住在北京", "我住在北京"),
        ("Delete what you know about my sister", "my sister"),
        ("Don't remember that I moved to Berlin.", "I moved to Berlin."),
        ("Please do not save that I'm pregnant", "I'm pregnant"),
        ("You don't have to remember my address", "my address"),
        ("Đừng nhớ rằng tôi đã chuyển đến Berlin", "tôi đã chuyển đến Berlin"),
        ("Không cần lưu lại việc tôi mang thai", "tôi mang thai"),
        ("Не запоминай, что я переехала в Берлин.", "я переехала в Берлин."),
        ("Пожалуйста, не сохраняйте это, что я беременна", "я беременна"),
        ("Не нужно запоминать мой адрес", "мой адрес"),
        ("别记住我搬到柏林了。", "我搬到柏林了。"),
        ("請不要記下我懷孕了", "我懷孕了"),
        ("不用记得我的生日", "我的生日"),
        ("你别保存我的地址", "我的地址"),
    ],
)
def test_what_is_to_be_forgotten_is_neither_fact_nor_question(text, forget):
    reading = read(text)
    assert (reading.forget, reading.facts, reading.question) == (forget, "", "")


@pytest.mark.parametrize(
    "text",
    [
        "Hello!",
        "Thanks for helping me",
        "Write me a poem about my dog",
        "I have a question",
        "The weather is nice",
        "ok",
        "Xin chào!",
        "Cảm ơn bạn đã giúp tôi",
        "Dịch câu này cho tôi",
        "Спасибо, что помог мне",
        "Напиши мне стихотворение",
        "Don't keep us waiting",
        "Don't save that file",
        "谢谢你帮我",
        "请帮我写一首诗",
        "",
        "…",
        "🦜",
    ],
)
def test_greetings_thanks_and_requests_are_nothing_to_keep_or_to_look_up(text):
    reading = read(text)
    assert (reading.facts, reading.question, reading.forget) == ("", "", "")


def test_one_message_may_state_and_ask():
    reading = read("I keep two parrots. They are grey. What do they eat?")
    assert (reading.facts, reading.question) == ("I keep two parrots. They are grey.", "What do they eat?")


@pytest.mark.parametrize("text", ["I love tea", "Tôi thích trà", "Мне нравится чай", "我喜欢茶"])
def test_a_taste_is_told_from_other_facts(text):
    assert read(text).taste
    assert not read("I live in Lyon").taste


def test_a_very_long_message_is_read_in_no_time():
    assert read("a" * 20_000 + " " + "не " * 5_000 + "?" * 1_000).question
