"""Sentences that look as if they told a secret and don't: nothing in them may be masked."""

from __future__ import annotations

SENTENCES = {
    "en": """password must contain at least 12 characters and a symbol
I forgot my password, can you help?
The secret is to use fresh basil.
The key is under the mat.
token count: 1024
max_tokens=4096 is enough
code 404 means not found
pin it to the board
basic auth is deprecated
pass the salt, please
Basic understanding of the bearer market
The bearer of good news arrived.
sk-learn and scikit-learn are the same
The password field is required.
Password: must be changed every 90 days
Change your password regularly.
My password manager is Bitwarden
I use password managers for everything
the password reset link has expired
She passed the exam with 98 points
pass me 250 grams of flour
The passage is 300 metres long
key: C major, tempo: 120
The key takeaway is consistency.
My key is on the table near the door
key=lambda x: x[1]
token: the smallest unit of text
tokens: 512, chunks: 24
secret: nobody knows
api_key = os.getenv("OPENAI_API_KEY")
api_key=settings.api_key
password = getpass.getpass()
password=${DB_PASSWORD}
password: <your password>
API_KEY=YOUR_API_KEY
token: xxxxxxxxxxxxxxxx
password: ********
password = input("Password: ")
if password == confirm_password: login()
const token = await getToken(user);
token = response.json()["access_token"]
secret = secrets.token_hex(32)
The access code concept dates from 1970
error code 1045: access denied
exit code 137 means OOM
country code 84 for Vietnam
zip code 94107
the dress code is casual
source code has 120000 lines
code review at 1430 tomorrow
The promo runs until 2024-05-17
Our bar code scanner reads 4006381333931
QR code size is 300 pixels
my login is slow today
login page returns 500
user: alice, role: admin
I read the Secret Garden in 1998
Victoria's Secret opened in 1977
The Da Vinci Code was published in 2003
color: #ff5733; background: #1e90ff
class="btn btn-primary md:w-1/2 lg:px-8 hover:bg-blue-500"
/usr/local/lib/python3.11/site-packages/discreet/redaction
C:\\Program Files\\Microsoft Visual Studio\\2022\\Community
src/components/UserProfileSettingsPage.test.tsx
AbstractSingletonProxyFactoryBean is a real class
internationalization and antidisestablishmentarianism
JavaScriptObjectNotationParserFactoryBuilder
https://www.youtube.com/watch?v=dQw4w9WgXcQ
https://docs.google.com/document/d/1aBcD2eFgH3iJkL4mNoP5qRsT6uVwX7yZ8/edit
https://github.com/langchain-ai/langgraph/blob/main/README.md
https://example.com/products/B08N5WRWNW/ref=sr_1_3
commit 9fceb02d0ae598e95dc970b74767f19372d61af8
git sha 46384bc
md5 d41d8cd98f00b204e9800998ecf8427e
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==
"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
h1:Gsr7UVJ1e6hUeHtpAUFrxOWqbc5VJ4L3nJHz6GjVHzI= go.sum
id 550e8400-e29b-41d4-a716-446655440000
trace id 4bf92f3577b34da6a3ce929d0e0e4736 span 00f067aa0ba902b7
request_id=7f3b2c1d9e8a4f5b6c7d8e9f0a1b2c3d
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
model gpt-4o-2024-08-06 and claude-3-5-sonnet-20241022
meta-llama/Llama-3.3-70B-Instruct-Turbo-Free
ip-10-0-12-34.eu-west-1.compute.internal
ec2-54-93-12-8.eu-central-1.compute.amazonaws.com
ATGCGTACGTTAGCCTAGGCTAACGTACGATCGATTACG
MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVK
1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6
ISBN 978-3-16-148410-0, part 90-1234-5678-01
iPhone15ProMax256GBTitanium
Wi-Fi password protected networks only
is the password correct?
The PIN pad is broken
PIN diodes are fast
my pin board has 45 pins
Passport control took 2 hours
The password was wrong again
your password is too short
the token expired after 3600 seconds
Set password policy to 12 characters minimum
a password of 8 characters can be cracked in 5 minutes
The API key format changed in 2023
Please rotate the API key every 90 days
How do I get an API key for OpenAI?
the access token lifetime is 3600
Token limit reached: 8192 of 8192
private key cryptography was invented in 1976
RSA-2048 and AES-256-GCM are fine
the session lasted 45 minutes
cookie recipe: 200g flour, 100g butter
Session 12 starts at 14:30
public key infrastructure
Key West is 2 hours away
ssh-keygen -t ed25519 -C "comment"
docker run -p 8080:80 nginx
mkdir -p src/components/buttons
python -m pytest -k test_login -p no:cacheprovider
curl -u $USER:$TOKEN https://example.com
the passcode requirement was dropped
Bring your pass by 10:30
The mountain pass is 2300m high
passing 3 tests and failing 2
CVV stands for card verification value
My code is 300 lines long
the code is clean and readable
I pushed code 3 times yesterday
Your code is wonderful!
Secret Santa is on 12 December
The password is case-sensitive.
passwords are stored hashed
answer: forty-two
the answer is 42
security question ideas?
Our safe word discussion was funny
I lost my keys again
authorization: required
Authorization header is missing
Bearer tokens expire.
sessions: 12, users: 4096
secret recipe: 2 cups of sugar
monkey: banana12
keyboard: qwerty layout
turkey: 1923 republic
donkey=grey1
passenger: 12A
compass: 270 degrees
bypass=true
authors: Smith2020
Pass rate: 98.5%
passed: 120, failed: 3
Primary key: user_id
foreign key: order_id2
sort key: created_at
Key size: 2048
keys: up/down
key is 'name1'
partition_key: tenant_42
public_key: ssh-rsa
hotkey: Ctrl+Shift+P
tokenizer: cl100k_base
next_token: int
num_tokens = 2048
next page token is empty
token_type: bearer
password_field = "user_pwd"
password_hash = hash_password(pw)
PasswordField: <input type="password" name="password">
<label for="password">Password</label>
{"type": "password", "required": true}
secretary: Ann2
Passau: 50000 inhabitants
I have a pass for the 10:45 train
my login: not working
user login 2024-05-17 10:33
login: https://example.com/login
username and password are both required to continue
enter your username / password below
The pass was intercepted in the 78th minute
Barcelona pass accuracy 91%""",
    "vi": """Mật khẩu phải có ít nhất 12 ký tự
Tôi quên mật khẩu rồi
mật khẩu của tôi là gì nhỉ?
Mật khẩu của bạn đã hết hạn.
mật khẩu quá ngắn
Đổi mật khẩu mỗi 90 ngày nhé
đặt lại mật khẩu như thế nào?
Bí mật là dùng rau tươi.
Chìa khóa ở dưới thảm
khóa học có 24 buổi
khóa 12 tốt nghiệp năm 2020
mã đơn hàng 240517ABC123
mã bưu điện 700000
mã vùng 028
mã sản phẩm SP12345
mã lỗi 404
mã giảm giá SALE50
mã số thuế là gì?
mã nguồn có 12000 dòng
pin điện thoại còn 45%
pin dự phòng 20000 mAh
pin 5000mAh dùng cả ngày
thay pin hết 350000 đồng
Token là đơn vị nhỏ nhất của văn bản
giới hạn token là 8192
khong biet mat khau la gi
toi quen mat khau roi
pass bài kiểm tra được 9 điểm
pass lại vé concert giá 500k
mình pass môn rồi
truong hop nay nguoi dung phai dang nhap lai
nghiengnghieng duongduong truongtruong
mật khẩu yếu như 12345 rất nguy hiểm
Mật khẩu được mã hóa bằng AES-256
mật khẩu có 8 chữ số
mã OTP hết hạn sau 5 phút
mã OTP gồm 6 chữ số
không chia sẻ mã OTP cho ai
mã PIN gồm 4 số
Thẻ có mã CVV ở mặt sau
mk là viết tắt của mật khẩu
tài khoản của tôi bị khóa
API key dùng để làm gì?
Làm sao lấy API key của OpenAI?
khóa chính của bảng là user_id
cửa hàng mở lúc 8:30
từ khóa: mùa hè 2024
câu trả lời là 42
xác nhận cuộc hẹn lúc 14:30
mã chứng khoán VNM tăng 3,5%
quét mã QR để thanh toán 50000 đồng
mã môn học IT4409
mật khẩu là thứ cần giữ kín
mật khẩu wifi là bao nhiêu vậy?
nhập mật khẩu để tiếp tục
nhớ đổi pin trước 10 giờ""",
    "ru": """Пароль должен содержать не менее 12 символов
Я забыл пароль от Gmail
пароль неверный
пароль слишком короткий
Пароль нужно менять раз в 90 дней
какой пароль от вайфая?
сбросьте пароль в настройках
Секрет в свежем базилике.
Ключ под ковриком
ключ на 12 лежит в гараже
ключ от квартиры у соседа
ключевая ставка 16%
ключевые слова: лето, море
код ошибки 404
код города 495
почтовый индекс 101000
исходный код занимает 12000 строк
код ревью в 14:30
мой код состоит из 300 строк
код товара 58392017
промокод LETO2024
уголовный кодекс, статья 228
токен — минимальная единица текста
лимит токенов 8192
пин-код состоит из 4 цифр
пинг 45 мс
логин не работает
логин и пароль обязательны
пароль: обязательное поле
мой пароль устарел
пароль надёжный
введите пароль ещё раз
пароль от 8 до 16 символов
пароли хранятся в виде хешей
парольная политика изменилась в 2023
не сообщайте никому код из смс
код подтверждения действует 5 минут
код подтверждения не пришёл
код состоит из 6 цифр
ответ: 42
секретный ингредиент — корица
Секретные материалы вышли в 1993
ключевой игрок забил 24 гола
кодовый замок сломан
пасс на 30 метров
пассажир 12А
API-ключ можно получить в кабинете
как получить ключ API?
штрих-код 4006381333931
QR-код не читается
код модели XR-2000
паром отходит в 18:45
пароход построен в 1912
тайна, покрытая мраком
сессия начинается 15 января
приватность важна
пароль забыл, помоги восстановить
код 404 означает, что страница не найдена""",
    "zh": """密碼必須至少12個字元
我忘記密碼了
密码太短
你的密碼已過期
密碼是什麼？
密码是多少？
每90天更換一次密碼
密碼錯誤3次會鎖定
請輸入密碼
請重設密碼
密码必须包含数字和符号
密碼長度為8到16位
秘密就是用新鮮羅勒
鑰匙在地墊下面
關鍵是堅持
關鍵字：夏天 2024
代碼404表示找不到
郵遞區號106
區號02
錯誤碼 1045
訂單編號202405171234
源代码有12000行
二維碼尺寸300像素
條碼4006381333931
token數量是1024
最大token为4096
驗證碼5分鐘內有效
验证码已发送
驗證碼沒有收到
验证码是6位数字
不要把驗證碼告訴別人
PIN碼是4位數
安全碼在卡片背面
安全问题有哪些？
答案是42
主键是user_id
密鑰長度2048位
API密鑰怎麼申請？
如何获取API密钥？
令牌环网是1980年代的技术
口令教育很重要
帳號被鎖了
账号和密码都要填
他的暗號很有趣
鍵盤有104個鍵
優惠碼SALE50
股票代碼2330漲了3%
車牌號碼看不清楚
密碼學課程有24堂
密码强度：弱
密碼不要用123456
我的密碼很安全
密碼本在桌上
密碼管理器推薦1Password
使用AES-256加密
公钥基础设施
身份验证失败
會話持續45分鐘
口令红包
pass 掉這個提案
pin在首頁""",
}
