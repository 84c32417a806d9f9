import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import AroundRecogniser, LoginRecogniser, PasswordRecogniser

REDACTOR = Redactor(recognisers=[AroundRecogniser(), LoginRecogniser(), PasswordRecogniser()])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("just set it to mX-44tulip7 as password", "just set it to <SECRET> as password"),
        ("i typed Rm4!gate but got incorrect password", "i typed <SECRET> but got incorrect password"),
        ("what's the wifi? > Kite#4432", "what's the wifi? > <SECRET>"),
        ("it's Kite#4432 (the wifi one)", "it's <SECRET> (the wifi one)"),
        ("try admin/Kite#4432", "try admin/<SECRET>"),
        ("bob/Pine_tree88", "bob/<SECRET>"),
        ("dùng Zq7!vork8 làm mật khẩu", "dùng <SECRET> làm mật khẩu"),
        ("em thử conmeo mà báo sai mật khẩu", "em thử <SECRET> mà báo sai mật khẩu"),
        ("введи kotik как пароль", "введи <SECRET> как пароль"),
        ("пробовал Reka!93, пишет неверный пароль", "пробовал <SECRET>, пишет неверный пароль"),
        ("用Panda#09x作为密码", "用<SECRET>作为密码"),
        ("把Qian!88x設為密碼", "把<SECRET>設為密碼"),
        ("我输woaini说密码错误", "我输<SECRET>说密码错误"),
        ("Password:\nG7h!kLq29", "Password:\n<SECRET>"),
        ("Mật khẩu:\nMeo@12345", "Mật khẩu:\n<SECRET>"),
        ("Пароль:\n123456", "Пароль:\n<SECRET>"),
        ("密码:\nkite4432", "密码:\n<SECRET>"),
        ("mk wifi nhà mình Y7p1vQ0AlY", "mk wifi nhà mình <SECRET>"),
        ("mk 123456", "mk <SECRET>"),
        ("mk gmail: conmeo", "mk gmail: <SECRET>"),
        ("em để pass conmeo đó", "em để pass <SECRET> đó"),
        ("mật khẩu điện thoại 835261", "mật khẩu điện thoại <SECRET>"),
        ("nhập mật khẩu anhyeuem123 là vào được", "nhập mật khẩu <SECRET> là vào được"),
        ("my pass for the portal is dragon", "my pass for the portal is <SECRET>"),
        ("mk zalo em 445566", "mk zalo em <SECRET>"),
        ("sign in with bob and Kite#4432", "sign in with bob and <SECRET>"),
        ("wpa2 key bluE$hoe50", "wpa2 key <SECRET>"),
        ("пароль от почты K%VFPON*ymGK, никому", "пароль от почты <SECRET>, никому"),
        ("пассворд solnyshko", "пассворд <SECRET>"),
        ("парол privet123", "парол <SECRET>"),
        ("старый пароль kotik не подходит", "старый пароль <SECRET> не подходит"),
        ("пароль Солнце_8314", "пароль <SECRET>"),
        ("log in with bob and Kite#4432", "log in with bob and <SECRET>"),
        ("Your login details: bob, Kite#4432", "Your login details: bob, <SECRET>"),
        ("đăng nhập bằng bob và Kite#4432", "đăng nhập bằng bob và <SECRET>"),
        ("учётка bob / 123456", "учётка bob / <SECRET>"),
        ("вход: bob Kite#4432", "вход: bob <SECRET>"),
        ("帳密 bob / 123456", "帳密 bob / <SECRET>"),
    ],
)
def test_values_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "if (password === confirm) {",
        'if not user.password: raise ValueError("password required")',
        "PASS src/app.test.js",
        "Log: user=alice action=login",
        "credentials: read/write",
        "user 10.1.2.3 / 10.1.2.4",
        "log in with Google and GitHub",
        "log in with email and password",
        "Your login details: email, phone",
        "tried everything but it says wrong password",
        "tried windows10 but it says wrong password",
        "just set it to anything as password",
        "it's slow (the wifi one)",
        "what's the wifi? > 192.168.1.1",
        "components/userCard",
        "admin/settings",
        "Email:\nPassword:\nLogin",
        "Password:\nmust be at least 8 characters",
        "my pass for the gym is expensive",
        "wpa2 key length",
        "em thử lại mà báo sai mật khẩu",
        "em thử Chrome mà báo sai mật khẩu",
        "dùng vân tay làm mật khẩu",
        "mk nick em bị mất rồi",
        "mk 30 tuổi rồi",
        "em để pass cho anh rồi",
        "pass là qua môn",
        "Mật khẩu:\nphải có ít nhất 8 ký tự",
        "пробовал дважды, пишет неверный пароль",
        "введи что угодно как пароль",
        "старый пароль больше не подходит",
        "пароль: забыт",
        "вход: свободный",
        "учётка админа / пользователя",
        "我输了三次说密码错误",
        "用指纹作为密码",
        "用iPhone作为密码器",
    ],
)
def test_what_only_looks_so_stays(text):
    assert REDACTOR.redact(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Kite#4432 ist mein Passwort", "<SECRET> ist mein Passwort"),
        ("Kite#4432 est mon mot de passe", "<SECRET> est mon mot de passe"),
        ("Kite#4432 es mi contraseña", "<SECRET> es mi contraseña"),
        ("Kite#4432 è la mia password", "<SECRET> è la mia password"),
        ("Kite#4432 é minha senha", "<SECRET> é minha senha"),
        ("Kite#4432 is mijn wachtwoord", "<SECRET> is mijn wachtwoord"),
        ("Kite#4432 to moje hasło", "<SECRET> to moje hasło"),
        ("Kite#4432がパスワードです", "<SECRET>がパスワードです"),
        ("Kite#4432가 내 비밀번호야", "<SECRET>가 내 비밀번호야"),
        ("Kite#4432 là mật khẩu wifi", "<SECRET> là mật khẩu wifi"),
        ("Kite#4432 — мой пароль", "<SECRET> — мой пароль"),
        ("use Kite#4432 to log in", "use <SECRET> to log in"),
        ("use Kite#4432 for my new password", "use <SECRET> for my new password"),
    ],
)
def test_values_that_are_said_first_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "this is my password",
        "nothing is my password anymore",
        "Das ist mein Passwort",
        "C'est mon mot de passe",
        "esa es mi contraseña",
        "questa è la mia password",
        "essa é minha senha",
        "to jest moje hasło",
        "itu adalah kata sandi saya",
        "これがパスワードです",
        "이게 내 비밀번호야",
        "cái này là mật khẩu",
        "это мой пароль",
        "use Google to log in",
        "use Bitwarden for my new password",
    ],
)
def test_what_stands_before_and_is_no_password_stays(text):
    assert REDACTOR.redact(text) == text
