"""Bring what people type to one form before rules look at it."""

# ruff: noqa: SIM905, RUF001  # words read better than 250 literals; characters that look alike are the subject

from __future__ import annotations

import re
import unicodedata

MAX_CHARS = 1_000
"""Only the beginning and the end of a longer message are read: the rest is material, not the question."""

_TRADITIONAL = (
    "說訴讀寫譯總結請問謝見們嗎麼為誰這個裡開關間時會過還沒對讓給幫應該現過從來變壞發燒頭暈難悶氣壓藥醫險預訂歡愛樂覺認識"
    "記憶錄憶聽聊談論議薦買賣車飛機電腦視頻圖書學習練試題課師國語英漢詞義歷區別類種號碼萬億幾點鐘週禮歲兒媽爺孫親"
    "養貓雞魚鳥馬飯麵湯蘋葉樹園風雲陽熱涼溫濕環計畫劃畢業職務實驗證據據資訊網頁連線運動體重傷腫瘡癢鬱慮張煩擔緊鬆輕"
    "嚴減輕復檢查驗單測腎臟腦臉腳髮齒聲喚嘔膽過敏癥狀況況創製產傳統領導總統選舉條約戰爭軍隊歐亞歷殺贏轉換響參與筆錯誤"
    "確許樣東西邊進遠離鄰層樓門廳廚臥華臺灣廣場島嶼塊貴價錢銀帳費賺錢術藝畫劇導詩節慶壽禍蠶蟲蛋餃鹽醬鹹餓渴飽睏"
    "啟動關閉刪除編輯複製貼顯檔夾陣數組迴圈類庫軟硬鍵鼠標螢幕兩雙隻顆張頁筆蓋際勵壓縮簡潤飾較優勢濟靈顧懷舊習慣愛"
    "夠嘗試歸納擬構設計劃勞煩噁嘍囉喲啦喔罵癌瘋療護養盡儘愉悅"
)
_SIMPLE = (
    "说诉读写译总结请问谢见们吗么为谁这个里开关间时会过还没对让给帮应该现过从来变坏发烧头晕难闷气压药医险预订欢爱乐觉认识"
    "记忆录忆听聊谈论议荐买卖车飞机电脑视频图书学习练试题课师国语英汉词义历区别类种号码万亿几点钟周礼岁儿妈爷孙亲"
    "养猫鸡鱼鸟马饭面汤苹叶树园风云阳热凉温湿环计画划毕业职务实验证据据资讯网页连线运动体重伤肿疮痒郁虑张烦担紧松轻"
    "严减轻复检查验单测肾脏脑脸脚发齿声唤呕胆过敏症状况况创制产传统领导总统选举条约战争军队欧亚历杀赢转换响参与笔错误"
    "确许样东西边进远离邻层楼门厅厨卧华台湾广场岛屿块贵价钱银帐费赚钱术艺画剧导诗节庆寿祸蚕虫蛋饺盐酱咸饿渴饱困"
    "启动关闭删除编辑复制贴显档夹阵数组回圈类库软硬键鼠标萤幕两双只颗张页笔盖际励压缩简润饰较优势济灵顾怀旧习惯爱"
    "够尝试归纳拟构设计划劳烦恶喽啰哟啦喔骂癌疯疗护养尽尽愉悦"
)
_ONE_FORM = str.maketrans(_TRADITIONAL + "喫醒恒裏麽妳祇衹痠嬤", _SIMPLE + "吃醒恒里么你只只酸奶") | str.maketrans(
    "ё’‘“”「」『』", 'е\'\'""""""'
)
"""Characters that the rules do not tell apart: traditional from simplified ones as far as rules name them, and quotes."""

_ACCENTED = re.compile("[ăâđêôơưàáảãạằắẳẵặầấẩẫậèéẻẽẹềếểễệìíỉĩịòóỏõọồốổỗộờớởỡợùúủũụừứửữựỳýỷỹỵ]")
_SCRIPTS = {
    "latin": re.compile(f"[a-z]|{_ACCENTED.pattern}"),
    "cyrillic": re.compile("[а-я]"),
    "han": re.compile("[㐀-鿿]"),
}
_LATIN_WORD = re.compile(r"[a-z]+")
_VIETNAMESE_SYLLABLES = frozenset(
    "toi minh ban khong ko k la gi nhe nha cua cho di nay hom duoc dc nao sao vay the bao nhieu lam lm biet giup noi chao xin cam"
    " ngay gio roi chua nhung voi ve mot hai ba con cai nguoi nha tai vi khi neu thi ma lai dang da se bi uong thuoc dau nhuc"
    " met ngu hay qua lam vui buon thich muon can hoi dich viet tieng anh viet nam trung quoc tinh giai thich ke nghe cuoi"
    " chuyen tot dep vang u oke sang trua chieu toi ngon mai gap biet bay nhieu it truoc sau tren duoi trong ngoai nhat"
    " nghia tu cau doan van bai tho ham nuoc thu do dan so nao cach nau mon an com pho bac me bo em chi anh ong chu co cau chung ta"
    " nhac nho quen uong kham benh vien bac si kho tho sot ho chong mat huyet ap duong dung hon van thay tam biet hen tuan"
    " thang nam hoc lam viec nha hang du lich goi y mon qua sinh nhat lau khoe hong coi luon nua thiet ha ten tuoi song o dau nghe nghiep cho meo ga ca den".split()
)
_ENGLISH = frozenset(
    "the a an is are am was of to and in on it you i my me what how who why when where do does did can for with this that"
    " have has be not or at please hi hello thanks thank yes".split()
)
_REPEATED_LETTER = re.compile(r"([^\W\d_])\1{2,}")
_REPEATED_PIECE = re.compile(r"([^\W\d_]{1,4}?)\1{2,}")
_NOISE = re.compile(r"[^\w\s'+*/=×÷()?.,:;%^°&$€-]+")


def one_form(text: str) -> str:
    """Return a pattern or a text with one character for those that the rules do not tell apart."""
    return text.translate(_ONE_FORM)


def folded(text: str) -> str:
    """Return lower-case NFKC text in one form, lines and quotes kept, its middle cut out when it is long."""
    if len(text) > MAX_CHARS:
        text = f"{text[: MAX_CHARS // 2]} {text[-MAX_CHARS // 2 :]}"
    return one_form(unicodedata.normalize("NFKC", text).casefold())


def quiet(text: str) -> str:
    """Return folded text with emoji and what is no part of words or sums as spaces, letters typed thrice once or twice."""
    return " ".join(_NOISE.sub(" ", _REPEATED_LETTER.sub(r"\1\1", text)).split())


def unrepeated(text: str) -> str:
    """Return quiet text with what is typed over and over once: "hahaha", "hiii"."""
    return _REPEATED_PIECE.sub(r"\1", text)


def without_accents(text: str) -> str:
    """Return a text or a pattern with Vietnamese letters as they are typed without marks; other scripts stay."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFD", text.replace("đ", "d"))
    kept = "".join(c for c in decomposed if not ("\u0300" <= c <= "\u0331"))
    return unicodedata.normalize("NFC", kept)


def scripts(text: str) -> frozenset[str]:
    """Return which of "latin", "cyrillic" and "han" folded text has letters of."""
    return frozenset(name for name, letters in _SCRIPTS.items() if letters.search(text))


def is_plain_vietnamese(text: str) -> bool:
    """Whether folded text is Vietnamese typed without its accents."""
    if _ACCENTED.search(text):
        return False
    words = _LATIN_WORD.findall(text)
    known = sum(word in _VIETNAMESE_SYLLABLES for word in words)
    return known >= max(1, len(words) / 2) and known > sum(word in _ENGLISH for word in words)
