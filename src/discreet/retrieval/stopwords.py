"""Words too common to find anything by. Small on purpose: the inverse document frequency handles the rest."""

from __future__ import annotations

_ENGLISH = """
a about am an and any are as at be been being but by can could did do does doing for from had has have he her hers him
his how i i'd i'll i'm i've if in into is it its it's just me my of on or our she should so some than that that's the
their them then there these they this those to us was we were what what's when where which who whom whose why will
with would you your
aren't can't couldn't didn't doesn't don't hadn't hasn't haven't isn't shouldn't wasn't weren't won't wouldn't
he'd he'll he's here's how's let's she'd she'll she's there's they'd they'll they're they've we'd we'll we're we've
who's you'd you'll you're you've
"""
_RUSSIAN = """
а бы был была были было быть в вам вас вы где да для до его ее если есть еще же за и из или им их к как какая какие
какой когда кто ли меня мне мой моя мои мое мы на над нас наш не него нее нет ни но ну о об он она они оно от по под
при про с со та так такая такие такое такой там те тебя тебе то тот ты у уже что чтобы эта эти это этот я делать делаю делает делал делала делают
"""
_VIETNAMESE = """
là và của có không cho với được các những một này đó thì mà ở trong từ đến ra vào tôi bạn mình anh chị em nó họ chúng
gì nào đâu ai sao thế nhé ạ à rằng như để khi bị đã đang sẽ rất cũng về làm
"""
_CHINESE = "的 了 是 我 你 您 他 她 它 们 在 有 和 与 也 都 就 不 这 那 吗 呢 吧 啊 什 么 个 一 着 过 很 会 要 到 说 对 为 以 之 而 及 做"

STOP_WORDS = frozenset(f"{_ENGLISH} {_RUSSIAN} {_VIETNAMESE} {_CHINESE}".split())
"""Casefolded, without the dots of the Russian io."""
