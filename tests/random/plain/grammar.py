r"""Productions of the plain Python grammar, each a text with holes.

A hole `<kind>` is replaced by an expression or a name of that kind, see `draw.Draw`:

- capitals are expressions: `<I>` int, `<W>` int or float, `<B>` condition, `<D>` condition on an
  argument, `<S>` string, `<L>` list of ints, `<T>` tuple of ints, `<X>` any iterable of ints;
- small letters are names in scope, `<l@A>` also binds the name to `@A` for later in the text;
- `<body>` is a block of further statements, `<loop>` that of a loop, `<out>` leaves a loop,
  `<end>` a loop or its turn;
- `<const>` is an int from 0 to 4, `<few>` from 2 to 4;
- `$x` is a fresh name, `{i $x}` puts a name into scope, `{~i $x}` until the production ends;
- `GROW x: statement` bounds what grows in loops.

Kinds of names: i int, j counter, n int argument, x float argument, w int or float, b bool,
s string, l list of ints, al such an argument, y list of numbers, m list of lists, d dict of ints,
k dict of lists, f dict of tuples, g dict whose keys are tuples, lt list of tuples, qt deque of
tuples, e set, t tuple, q deque, o `Box`, c `Node`, u object with special methods,
r iterator of ints, v iterator of numbers, p iterator of pairs, a array, h callable without
arguments, z int or None.
"""

from __future__ import annotations

Table = tuple[tuple[float, str], ...]

INT: Table = (
    (6, "<i>"),
    (4, "<j>"),
    (4, "<const>"),
    (3, "<n>"),
    (2, "len(<l>)"),
    (2, "len(<a>)"),
    (2, "<l>[-1]"),
    (2, "<l@A>[<I> % len(@A)]"),
    (2, "<t@A>[<I> % len(@A)]"),
    (1.5, "int(<a@A>[<I> % len(@A)])"),
    (2, "<d>.get(<I>, <const>)"),
    (2, "<I> + <I>"),
    (1, "<I> - <I>"),
    (1, "<I> * <I> % 7"),
    (1, "<I> // 2"),
    (1, "max(<I>, <I>)"),
    (1, "sum(<l>)"),
    (1, "min(<X>, default=<const>)"),
    (1, "<I> if <B> else <I>"),
    (1, "(<I> if <D> else <I>)"),
    (0.7, "(<B> and <I> or <I>)"),
    (1, "(<i> := <I>)"),
    (1, "<o>.v"),
    (0.7, "<o>.bump(<I>)"),
    (1, "len(<o>.items)"),
    (1, "len(<q>)"),
    (1, "len(<s>)"),
    (1, "<l>.count(<I>)"),
    (1, "len(<e>)"),
    (1.5, "next(<r>, <const>)"),
    (0.7, "sum(<r>)"),
    (0.5, "len(list(<r>))"),
    (1, "<h>()"),
    (0.7, "first(<r>)"),
    (0.7, "first(<L>, <I>)"),
    (0.5, "kept(<I>)[0]"),
    (0.5, "len(kept(<I>))"),
    (0.5, "counted()"),
    (0.5, "last(<l>)"),
    (0.7, "said(<I>)"),
    (0.5, "len(<u>)"),
    (0.4, "<u>[<I>]"),
    (0.4, "<u>(<I>)"),
    (0.4, "divmod(<I>, 3)[1]"),
    (0.4, "abs(<I>)"),
    (0.4, "int(<b>)"),
    (0.4, "ord(<s@A>[0]) % 5 if @A else <I>"),
    (0.4, "depth(<I> % 4)"),
    (0.3, "Level(<I> % 3 + 1).value"),
    (0.3, "Pair(<I>, <I>).key"),
    (0.3, "len(<m>)"),
    (0.5, "len(<m>[-1])"),
    (0.5, "<m@A>[<I> % len(@A)][0]"),
    (0.3, "(<z> or <I>)"),
    (0.3, "<c>.value"),
)
NUMBER: Table = (
    (3, "<w>"),
    (3, "<x>"),
    (3, "<a@A>[<I> % len(@A)]"),
    (2, "<I>"),
    (1, "<I> + <W>"),
    (1, "<W> * 0.5"),
    (1, "<W> - <W>"),
    (1, "(<W> if <B> else <W>)"),
    (0.7, "<y@A>[<I> % len(@A)]"),
    (0.5, "sum(<y>)"),
    (0.5, "next(<v>, <W>)"),
    (0.5, "max(<W>, <W>)"),
    (0.5, "-<W>"),
    (0.3, "float(<I>)"),
)
CONDITION: Table = (
    (6, "<D>"),
    (2, "<i> > <const>"),
    (2, "<j> > <few>"),
    (2, "<I> % 2 == 0"),
    (1, "<I> < <I>"),
    (1, "<b>"),
    (1, "<I> in <l>"),
    (0.7, "<I> in <d>"),
    (0.7, "<I> in <e>"),
    (0.7, "<I> in <r>"),
    (0.5, "<I> in <u>"),
    (0.7, "<l>"),
    (0.4, "<u>"),
    (0.4, "<s>"),
    (0.4, "<o>"),
    (1, "not <B>"),
    (1, "<B> and <B>"),
    (1, "<B> or <B>"),
    (0.7, "<l> is <l>"),
    (0.4, "<o> is <o>"),
    (0.4, "<o>.next is None"),
    (0.4, "<c> is not None"),
    (0.4, "<m@A>[0] is @A[-1]"),
    (0.4, "<l> == <l>"),
    (0.4, "<u> == <u>"),
    (0.4, "<u> < <u>"),
    (0.4, "<o> == <o>"),
    (0.7, "any(v > <const> for v in <X>)"),
    (0.7, "all(v < <I> for v in <X>)"),
    (0.5, "any(v == <const> for v in <r>)"),
    (0.3, "Pair(<I>, <I>) < Pair(<I>, <I>)"),
    (0.3, "Pair(<W>, <W>) > Pair(<W>, <W>)"),
    (0.3, "isinstance(<W>, int)"),
    (0.3, "said(<I>) and said(<I>)"),
    (0.3, "<z> is None"),
)
ON_DATA: Table = (
    (2, "<a@A>[<I> % len(@A)] > <const>"),
    (3, "<a@A>[<j> % len(@A)] > <const>"),
    (3, "<a@A>[<i> % len(@A)] > <const>"),
    (2, "<a@A>[<i> % len(@A)] < <W>"),
    (4, "<x> > <const>"),
    (3, "<n> > <const>"),
    (2, "<n> % 2 == 0"),
    (1, "len(<a>) > 3"),
    (1.5, "<al@A>[<I> % len(@A)] > <const>"),
    (1, "len(<al>) > 2"),
    (0.7, "<w> > <x>"),
)
LIST: Table = (
    (5, "<l>"),
    (3, "[<I>]"),
    (3, "[<I>, <I>]"),
    (2, "[<I>, <I>, <I>]"),
    (2, "[1, 2, 3]"),
    (1, "[]"),
    (1.5, "[<I>] * 3"),
    (1, "[0] * <n>"),
    (1.5, "list(range(<few>))"),
    (1, "list(range(max(0, <n>)))"),
    (1, "list(<X>)"),
    (1, "[v + <I> for v in <X>]"),
    (1, "[v for v in <X> if v > <const>]"),
    (1, "<l>[1:]"),
    (0.7, "<l>[::-1]"),
    (0.5, "<l>[:<n>]"),
    (0.7, "(<l> + <l>)[:8]"),
    (0.5, "sorted(<X>)"),
    (0.7, "<l>.copy()"),
    (0.7, "<m@A>[<I> % len(@A)]"),
    (0.7, "list(<r>)"),
    (0.7, "<o>.items"),
    (0.5, "kept(<I>)"),
    (0.5, "grown(<l>, <I>)"),
    (0.5, "<d>.setdefault(<I>, 1) and [<I>]"),
    (0.5, "<k>.setdefault(<I>, [])"),
    (0.5, "(<l> if <D> else <l>)"),
    (0.4, "(<l> or [<I>])"),
)
TUPLE: Table = (
    (3, "<t>"),
    (3, "(<I>, <I>)"),
    (1, "(1, 2, 3)"),
    (1, "(<I>,)"),
    (1, "tuple(<X>)"),
    (0.5, "<t>[1:]"),
    (0.5, "Pair(<I>, <I>)"),
    (1, "<f>.get(<I>, <t>)"),
    (1, "<lt@A>[<I> % len(@A)]"),
    (0.5, "max(<lt>)"),
    (0.5, "next(iter(<g>), <t>)"),
)
STRING: Table = (
    (3, "<s>"),
    (2, "'ab'"),
    (1, "''"),
    (1, "str(<I>)"),
    (1, "f'{<I>}-{<I>}'"),
    (0.7, "(<s> + <S>)[-6:]"),
    (0.5, "<s>[::-1]"),
    (0.5, "('p' if <D> else 'qr')"),
    (0.5, "','.join(str(v) for v in <X>)"),
    (0.3, "str(<u>)"),
    (0.3, "repr(<l>)[:8]"),
    (0.3, "f'{<u>}'"),
)
#: Iterables of ints: what loops run over, and what takes them apart.
ITERABLE: Table = (
    (6, "<l>"),
    (2, "range(<few>)"),
    (2, "range(<n>)"),
    (1, "range(len(<a>))"),
    (1, "range(<n>, 0, -1)"),
    (3, "<r>"),
    (2, "<t>"),
    (1, "<d>"),
    (0.7, "<d>.values()"),
    (0.7, "<e>"),
    (1, "<q>"),
    (1, "reversed(<l>)"),
    (1, "iter(<l>)"),
    (1, "(v + 1 for v in <l>)"),
    (0.7, "(v for v in <X> if v != <const>)"),
    (0.7, "map(lambda v: v + <I>, <X>)"),
    (0.7, "filter(lambda v: v > <const>, <X>)"),
    (1, "walked(<l>)"),
    (1, "steps(<I> % 4)"),
    (1, "Count(<few>)"),
    (0.5, "Bag(<l>)"),
    (0.5, "[<I>, <I>, <I>]"),
    (0.5, "sorted(<X>)"),
    (0.4, "<o>.items"),
    (0.3, "iter(<h>, <const>)"),
)
#: Iterators that get a name: of ints, of numbers, of pairs.
ITERATOR: Table = (
    (3, "iter(<l>)"),
    (2, "reversed(<l>)"),
    (2, "iter(range(<few>))"),
    (1, "iter(range(<n>))"),
    (2, "(v * 2 for v in <l>)"),
    (1, "(v for v in <X> if v > <const>)"),
    (1, "map(lambda v: v + <I>, <X>)"),
    (1, "filter(lambda v: v != <const>, <X>)"),
    (2, "walked(<l>)"),
    (1, "steps(<I> % 5)"),
    (2, "Count(<few>)"),
    (1, "iter(<d>)"),
    (0.7, "iter(<d>.values())"),
    (0.7, "iter(Bag(<l>))"),
    (0.5, "iter(<t>)"),
    (0.5, "iter(<q>)"),
    (0.5, "<r>"),
)
NUMBERS: Table = (
    (3, "iter(<a>)"),
    (2, "(v * 2 for v in <a>)"),
    (1, "(v for v in <a> if v > <const>)"),
    (1, "map(lambda v: v + <I>, <a>)"),
    (1, "iter([<W>, <W>])"),
    (1, "walked(<a>)"),
)
PAIRS: Table = (
    (2, "enumerate(<l>)"),
    (2, "zip(<X>, <X>)"),
    (1, "zip(<r@A>, @A)"),
    (1, "enumerate(<X>, <I>)"),
    (1, "iter(<d>.items())"),
)

EXPRESSIONS: dict[str, Table] = {
    "I": INT,
    "W": NUMBER,
    "B": CONDITION,
    "D": ON_DATA,
    "L": LIST,
    "T": TUPLE,
    "S": STRING,
    "X": ITERABLE,
    "R": ITERATOR,
    "V": NUMBERS,
    "P": PAIRS,
}

#: Statements that make names.
MAKERS: Table = (
    (4, "$i = <I>{i $i}"),
    (1, "$w = <I>{w $w}"),
    (1, "$w = <W>{w $w}"),
    (4, "$l = <L>{l $l}"),
    (2, "$p = $q = <L>{l $p}{l $q}"),
    (1, "$p = [<I>]\n$q = $p{l $p}{l $q}"),
    (1, "$y = [<W>, <I>]{y $y}"),
    (0.5, "$y = [v for v in <a>]{y $y}"),
    (1.5, "$m = [<l>, <l>]{m $m}"),
    (1.5, "$m = [<L>] * 2{m $m}"),
    (1, "$m = [[0] * 2] * 3{m $m}"),
    (1, "$m = [[v, <I>] for v in <X>]{m $m}"),
    (1, "$m = [[0] * <n> for _ in range(3)]{m $m}"),
    (2, "$d = {<I>: <I>, 1: <I>}{d $d}"),
    (1, "$d = {}{d $d}"),
    (0.7, "$d = {v: <I> for v in <X>}{d $d}"),
    (1, "$k = {0: <l>, <I>: <L>}{k $k}"),
    (0.5, "$k = defaultdict(list){k $k}"),
    (1, "$f = {<I>: <T>, 1: <T>}{f $f}"),
    (1, "$f = {}{f $f}"),
    (1, "$g = {<T>: <I>}{g $g}"),
    (1, "$g = {}{g $g}"),
    (1, "$lt = [<T>, <T>]{lt $lt}"),
    (1, "$lt = [(v, <I>) for v in <X>] + [<t>]{lt $lt}"),
    (0.5, "$lt = [*<f>.values(), <T>]{lt $lt}"),
    (0.5, "$lt = [*<g>, <T>]{lt $lt}"),
    (0.5, "$lt = sorted(<lt>){lt $lt}"),
    (0.5, "$lt = list(<g>.items()) + [<t>]{lt $lt}"),
    (1, "$qt = deque([<T>]){qt $qt}"),
    (1, "$e = {<I>, 2}{e $e}"),
    (0.5, "$e = set(<X>){e $e}"),
    (2, "$t = <T>{t $t}"),
    (1.5, "$q = deque(<X>){q $q}"),
    (0.5, "$q = deque(<X>, maxlen=3){q $q}"),
    (2, "$o = Box(<I>){o $o}"),
    (1, "$o = Box(<I>)\n$o.items = <l>{o $o}"),
    (1, "$u = Odd(<I>){u $u}"),
    (1, "$s = <S>{s $s}"),
    (1, "$b = <B>{b $b}"),
    (4, "$r = <R>{r $r}"),
    (2, "$v = <V>{v $v}"),
    (1.5, "$p = <P>{p $p}"),
    (1, "$h = lambda: <I>{h $h}"),
    (0.5, "$z = <I> if <D> else None{z $z}"),
    (0.7, "$c = Node(<I>, Node(<I>)){c $c}"),
    (0.4, "$l = both(<I>)[0]{l $l}"),
    (0.7, "$p, $q = both(<I>){l $p}{l $q}"),
    (
        1.5,
        "$n = <I>\ndef $h():\n    nonlocal $n\n    $n = ($n + <const>) % 9\n    return $n"
        "{i $n}{h $h}",
    ),
    (0.5, "$k = <d>.keys(){e $k}"),
    (0.3, "$l = bytearray(v % 9 for v in <l>){l $l}"),
    (0.7, "def $h(kept=[]):\n    kept.append(len(kept))\n    return kept[-1] + <I>{h $h}"),
    (0.7, "def $h():\n    <l@A>[0] = <I>\n    return len(@A){h $h}"),
    (0.7, "$f = []\nfor $k in range(3):\n    $f.append(lambda: $k + <I>)\n$h = $f[0]{h $h}"),
    (0.5, "$h = [lambda k=k: k + <I> for k in range(3)][1]{h $h}"),
)
#: Statements of one line or a few that bind anew, store, ask iterators, print, raise.
STEPS: Table = (
    (3, "<i> = <I>"),
    (3, "<i> += <I>"),
    (1, "<w> = <W>"),
    (1, "<w> += <W>"),
    (2, "<l> = <l>"),
    (3, "<l> = <L>"),
    (1, "<l> = <l> = <L>"),
    (1, "<l@A>, <l@B> = @B, @A"),
    (0.7, "<i@A>, <i@B> = @B, @A"),
    (4, "GROW <l@A>: @A.append(<I>)"),
    (3, "<l@A>[<I> % len(@A)] = <I>"),
    (2, "<l>[0] = <I>"),
    (1, "GROW <l@A>: @A.insert(<I>, <I>)"),
    (1, "GROW <l@A>: @A.extend([*<X>])"),
    (1, "GROW <l@A>: @A += [<I>]"),
    (1, "if <l@A>:\n    @A.pop()"),
    (0.7, "if <l@A>:\n    del @A[0]"),
    (0.7, "if <I> in <l@A>:\n    @A.remove(@A[-1])"),
    (0.5, "<l>.reverse()"),
    (0.5, "<l>.sort()"),
    (0.5, "<l>.clear()"),
    (0.7, "<l>[1:] = [<I>]"),
    (0.7, "<l@A>[0], @A[<I> % len(@A)] = @A[-1], @A[0]"),
    (0.7, "<l@A>[<I> % len(@A)] += <I>"),
    (1, "GROW <y@A>: @A.append(<W>)"),
    (0.7, "<y>[0] = <W>"),
    (2, "GROW <m@A>: @A.append(<l>)"),
    (1, "GROW <m@A>: @A.append([<I>])"),
    (1, "GROW <m@A>[0]: @A[0].append(<I>)"),
    (1.5, "<m@A>[<I> % len(@A)] = @A[0]"),
    (1, "<m>[0] = <l>"),
    (1.5, "<m@A>[<I> % len(@A)][0] = <I>"),
    (1, "<m@A>[0], @A[<I> % len(@A)] = @A[<I> % len(@A)], @A[0]"),
    (1, "<l> = <m>[-1]"),
    (0.7, "if len(<m@A>) > 1:\n    <l> = @A.pop()"),
    (2, "<d>[<I>] = <I>"),
    (1, "<d@A>[<I>] = @A.pop(<I>, <const>)"),
    (1, "<d>.pop(<I>, None)"),
    (1, "<d@A>[<i@B> % 3] = @A.get(@B % 3, 0) + 1"),
    (0.5, "<d>.update({<I>: <I>})"),
    (0.5, "<d>[len(<al>) % 5] = <I>"),
    (0.5, "<d> = <d>"),
    (1, "<k>.setdefault(<I> % 3, []).append(<I>)"),
    (0.7, "<k>[<I> % 3] = <l>"),
    (1, "<f>[<I> % 5] = <T>"),
    (1, "<t> = <f>.setdefault(<I> % 5, <T>)"),
    (0.7, "<t> = <f>.pop(<I>, <t>)"),
    (0.7, "<f>.update(<f>)"),
    (1, "<g>[<T>] = <I>"),
    (1, "<g@A>[<t@B>] = @A.get(@B, 0) + 1"),
    (1, "GROW <lt@A>: @A.append(<T>)"),
    (0.7, "GROW <lt@A>: @A.insert(0, <T>)"),
    (0.7, "<lt@A>[<I> % len(@A)] = <T>"),
    (1, "GROW <qt@A>: @A.append(<T>)"),
    (0.7, "GROW <qt@A>: @A.appendleft(<T>)"),
    (0.7, "if <qt@A>:\n    <t> = @A.popleft()"),
    (0.5, "if <qt@A>:\n    @A.rotate(<const>)"),
    (1, "<e>.add(<I>)"),
    (0.5, "<e>.discard(<I>)"),
    (0.5, "<e> |= {<I>}"),
    (1, "GROW <q@A>: @A.append(<I>)"),
    (0.7, "GROW <q@A>: @A.appendleft(<I>)"),
    (1, "if <q@A>:\n    <i> = @A.popleft()"),
    (1, "<t> = <T>"),
    (0.5, "<t> = (<t> + (<I>,))[-4:]"),
    (1, "<s> = <S>"),
    (1, "<b> = <B>"),
    (1.5, "<o>.v = <I>"),
    (1, "<o>.v += <I>"),
    (1, "GROW <o@A>.items: @A.items.append(<I>)"),
    (1, "<o>.items = <l>"),
    (1, "<l> = <o>.items"),
    (1, "<o>.next = <o>"),
    (1, "<o> = <o>"),
    (1, "<o> = Box(<I>)"),
    (0.7, "<o@A> = @A.next or Box(<I>)"),
    (0.5, "<o>.bump(<I>)"),
    (0.7, "<u>.v = <I>"),
    (0.5, "<u> = Odd(<I>)"),
    (1, "<c> = Node(<I>, <c>)"),
    (0.7, "<c>.value = <I>"),
    (1.5, "<i> = next(<r>, <const>)"),
    (1, "$l = list(<r>){l $l}"),
    (1, "try:\n    <i> = next(<r>)\nexcept StopIteration:\n    <i> = -1"),
    (1, "$b = any(v > <const> for v in <r>){b $b}"),
    (1, "<r> = <R>"),
    (0.7, "$y = list(<v>){y $y}"),
    (0.7, "$w = next(<v>, None)"),
    (0.7, "$w = next((v for v in <v> if v > <const>), 0){w $w}"),
    (1, "$i, $j = next(<p>, (0, 1)){i $i}{i $j}"),
    (0.7, "$i = sum(i * j for i, j in <p>){i $i}"),
    (0.7, "$i, *$l = *<T>, <I>{i $i}{l $l}"),
    (2, "print(<I>, <S>)"),
    (0.5, "print(<l>)"),
    (0.4, "print(<u>, repr(<o>))"),
    (0.7, "<a@A>[<I> % len(@A)] = <W>"),
    (0.7, "LOG.append(<I>)"),
    (0.5, "SHARED[0] = <I>"),
    (0.4, "<h>()"),
    (0.4, "<z> = None"),
    (0.4, "assert <B>, <S>"),
    (0.4, "del <i>"),
)
#: Statements with blocks.
BLOCKS: Table = (
    (6, "if <B>:\n    <body>"),
    (5, "if <D>:\n    <body>\nelse:\n    <body>"),
    (2, "if <D>:\n    <body>\nelif <B>:\n    <body>\nelse:\n    <body>"),
    (6, "for $v in <X>:{~i $v}\n    <loop>"),
    (3, "for $v in <l>:{~i $v}\n    <loop>"),
    (2, "for $v in <r>:{~i $v}\n    <loop>\n    if <B>:\n        break"),
    (1.5, "for $v in <al>:{~i $v}\n    <loop>"),
    (1.5, "for $v in <a>:{~w $v}\n    <loop>"),
    (1, "for $v in <v>:{~w $v}\n    <loop>\n    if $v > <const>:\n        break"),
    (1, "for $i, $v in enumerate(<l>):{~i $i}{~i $v}\n    <loop>"),
    (1, "for $i, $v in enumerate(<a>):{~i $i}{~w $v}\n    <loop>"),
    (0.7, "for $i, $v in <p>:{~i $i}{~i $v}\n    <loop>\n    if <B>:\n        break"),
    (0.7, "for $i, $v in zip(<X>, <X>):{~i $i}{~i $v}\n    <loop>"),
    (0.7, "for $k, $v in <d>.items():{~i $k}{~i $v}\n    <loop>"),
    (0.5, "for $k in list(<d>):{~i $k}\n    <loop>"),
    (1, "for $l in <m>:{~l $l}\n    <loop>"),
    (0.5, "for $s in <s>:{~s $s}\n    <loop>"),
    (1, "for $v in <X>:{~i $v}\n    <loop>\nelse:\n    <body>"),
    (1, "for $v in <X>:{i $v}\n    <loop>"),
    (
        2,
        "$k = 0{~j $k}\nwhile True:\n    $k += 1\n    if $k > 9:\n        break\n    <loop>\n"
        "    if $k >= <const> and <D>:\n        break",
    ),
    (
        2,
        "$k = 0{j $k}\nwhile True:\n    if $k >= 2 and <D>:\n        <out>\n    $k += 1\n"
        "    <loop>\n    if $k > 8:\n        <out>",
    ),
    (1.5, "$k = 0{~j $k}\nwhile $k < <const> + 3:\n    $k += 1\n    <loop>"),
    (1, "$k = 0{j $k}\nwhile $k < 8 and <B>:\n    <loop>\n    $k += 1"),
    (1, "$x = <x>{~w $x}\nwhile $x > 1:\n    <loop>\n    $x = $x / 2"),
    (
        1,
        "$k = 0\nwhile <q@A> and $k < 7:\n    $k += 1\n    $i = @A.popleft(){~i $i}\n    <loop>",
    ),
    (2, "try:\n    <body>\nexcept (IndexError, KeyError, ZeroDivisionError):\n    <body>"),
    (1.5, "try:\n    <body>\n    <end>\nfinally:\n    <body>"),
    (
        1.5,
        "try:\n    if <B>:\n        raise Stop(<I>, <S>)\n    <body>\nexcept Stop as $x:\n"
        "    <i> = len($x.args)\nelse:\n    <body>\nfinally:\n    <body>",
    ),
    (
        2,
        "for $v in <X>:{~i $v}\n    try:\n        <loop>\n        if <B>:\n            <end>\n"
        "    finally:\n        <body>",
    ),
    (0.5, "with Entered(<l>) as $l:{~l $l}\n    <body>"),
    (
        0.5,
        "match <T>:\n    case (0, $v):\n        <body>\n    case (_, 1):\n        <body>\n"
        "    case _:\n        <body>",
    ),
)
#: Ways out of a function or a loop.
LEAVES: Table = (
    (3, "if <B>:\n    <end>"),
    (1, "if <D>:\n    <return>"),
    (0.4, "if <D>:\n    raise Stop(<I>, <S>)"),
    (0.2, "if <D>:\n    raise OSError(2, <S>, 'file')"),
    (0.2, "if <B>:\n    raise ValueError(<I>) from Stop(<I>)"),
    (0.2, "if <B>:\n    $x = KeyError(<I>, <l>)\n    $x.add_note(<S>)\n    raise $x"),
)
#: What a student writes, in short.
IDIOMS: Table = (
    (
        2,
        "$h = $t = Node(0)\nfor $v in <X>:{~i $v}\n    $t.next = Node(<I>)\n    $t = $t.next\n"
        "{c $h}{c $t}",
    ),
    (
        1,
        "$h = None\nfor $v in <X>:{~i $v}\n    $h = Node(<I>, $h)\n    if <B>:\n        <end>\n"
        "{c $h}",
    ),
    (
        1,
        "$p, $c, $k = None, <c>, 0\nwhile $c is not None and $k < 9:\n    $k += 1\n"
        "    $p, $c.next, $c = $c, $p, $c.next\n{c $p}",
    ),
    (
        1,
        "$h = Chain()\nfor $v in <X>:{~i $v}\n    if $h.tail:\n        $h.tail.next = $h.tail = "
        "Node($v)\n    else:\n        $h.head = $h.tail = Node($v)\n$c = $h.head{c $c}",
    ),
    (1, "$t = Tree(<I>)\nfor $v in <X>:\n    $t.insert($v)\n$l = $t.inorder([]){l $l}"),
    (
        1,
        "$f = [True] * (<n> + 3)\n$l = []\nfor $i, $x in enumerate($f):\n    if $x and $i > 1:\n"
        "        $l.append($i)\n        for $k in range($i * $i, len($f), $i):\n"
        "            $f[$k] = False\n{l $l}",
    ),
    (
        1,
        "$l = [3, <I>, 2, <I>]\nfor _ in $l:\n    for $j in range(len($l) - 1):\n"
        "        if $l[$j] > $l[$j + 1]:\n            $l[$j], $l[$j + 1] = $l[$j + 1], $l[$j]\n"
        "{l $l}",
    ),
    (
        1,
        "$l = list(<X>)\nfor $i in range(1, len($l)):\n    $v, $j = $l[$i], $i\n"
        "    while $j > 0 and $l[$j - 1] > $v:\n        $l[$j] = $l[$j - 1]\n        $j -= 1\n"
        "    $l[$j] = $v\n{l $l}",
    ),
    (
        1.5,
        "$s, $k = 0, 0\nwhile True:{~i $s}{~j $k}\n    if $s == 0:\n        if $k >= 2:\n"
        "            $s = 1\n    elif $s == 1:\n        if <D>:\n            $s = 2\n"
        "        if $k > 8:\n            <out>\n    else:\n        <out>\n    $k += 1\n"
        "    if $k > 20:\n        break\n{j $k}{i $s}",
    ),
    (
        1,
        "$q, $l, $k = [<I>], [], 0\nwhile $q and $k < 8:\n    $v = $q.pop()\n    $k += 1\n"
        "    if $v not in $l:{~i $v}\n        $l.append($v)\n        $q.extend([($v + 1) % 5, "
        "<I>])\n{l $l}",
    ),
    (
        1,
        "$l, $q = sorted(<X>), sorted(<X>)\n$m = []\nwhile $l and $q:\n    if $l[0] < $q[0]:\n"
        "        $m.append($l.pop(0))\n    else:\n        $m.append($q.pop(0))\n"
        "$p = ($m + $l + $q)[:9]{l $p}{l $q}",
    ),
    (
        1,
        "$l = []\nfor $c in '12+3*':\n    if $c.isdigit():\n        $l.append(int($c) + <I>)\n"
        "    else:\n        $p, $q = $l.pop(), $l.pop()\n        $l.append($p + $q if $c == '+' "
        "else $p * $q % 9)\n{l $l}",
    ),
    (
        1.5,
        "for $v in <X>:{~i $v}\n    $p = [<I>]\n    $q = $p if <D> else None\n"
        "if $q is not None:\n    $q.append(<I>)\n{l $p}",
    ),
    (1, "for $v in <X>:{~i $v}\n    $p = [<I>]\n    $q = $p\n$q.append(<I>)\n{l $p}{l $q}"),
    (1, "if <D>:\n    $p = $q = <L>\nelse:\n    $p, $q = [1], [<I>]\n{l $p}{l $q}"),
    (1, "if <D>:\n    $p = <l>\nelse:\n    $p = <l>\n$p.append(<I>)\n{l $p}"),
    (
        1,
        "$m, $p = [], [0, 0]\nfor $v in <X>:{~i $v}\n    $p[1] = <I>\n    $p = [<I>, 0]\n"
        "    $m.append($p)\n{m $m}{l $p}",
    ),
    (
        1,
        "$k = {}\nfor $v in <X>:{~i $v}\n    if <I> not in $k:\n        $k[$v] = []\n"
        "    $k.setdefault($v % 2, []).append(<I>)\n{k $k}",
    ),
    (1, "$f = {}\nfor $v in <X>:{~i $v}\n    $t = ($v, <I>)\n    $f[$v] = $t\n{f $f}{t $t}"),
    (
        1,
        "$lt, $g = [], {}\nfor $v in <X>:{~i $v}\n    $t = ($v % 3, <I>)\n"
        "    if $t not in $g:\n        $lt.append($t)\n    $g[$t] = $v\n{g $g}{lt $lt}",
    ),
    (
        1,
        "$qt, $lt = deque([(<I>, 0)]), [<T>]\nwhile $qt and len($lt) < 9:\n"
        "    $p, $q = $t = $qt.popleft()\n    $lt.append($t)\n    if <D> and $q < 4:\n"
        "        $qt.append(($p + 1, $q + 1))\n{qt $qt}{lt $lt}",
    ),
    (
        1,
        "$d = {}\nif <D>:\n    $d[1] = <I>\n    $d[2] = <I>\nelse:\n    $d[2] = <I>\n"
        "    $d[1] = <I>\n{d $d}",
    ),
    (
        1,
        "$r = <R>{r $r}\nfor $v in $r:\n    if <D>:\n        break\n$l = list($r){l $l}",
    ),
    (
        1,
        "$v = <V>{v $v}\nfor $w in $v:\n    if $w > <const>:\n        break\n$y = list($v){y $y}",
    ),
    (0.7, "$r = <R>{r $r}\n$b = any(v > <const> for v in $r){b $b}\n$l = list($r){l $l}"),
    (0.7, "$r = iter(<l@A>){r $r}\n<step>\n@A.append(<I>)\n$i = next($r, -1){i $i}"),
    (
        0.7,
        "$r = Count(4){r $r}\n$l = []\nwhile len($l) < <const>:\n    $l.append(next($r))\n{l $l}",
    ),
    (
        0.7,
        "$o = Box(<I>)\n$p = $o\nfor $v in <X>:{~i $v}\n    $p.next = Box(<I>)\n"
        "    $p.items.append($v)\n    $p = $p.next\n{o $o}{o $p}",
    ),
    (
        0.7,
        "$k = 0\ndef $h(v):\n    nonlocal $k\n    $k += v\n    return $k > <const>\n"
        "$b = $h(<I>) and $h(<I>) or $h(<I>){j $k}{b $b}",
    ),
    (
        0.7,
        "$l = []\nfor $v in <X>:{~i $v}\n    if <D>:\n        $x = <I>\n    $l.append($x)\n{l $l}",
    ),
    (
        0.7,
        "$p, $q = 0, len(<l@A>) - 1\nwhile $p < $q:\n    @A[$p], @A[$q] = @A[$q], @A[$p]\n"
        "    $p += 1\n    $q -= 1\n",
    ),
    (
        0.7,
        "$d = {}\ndef $f(n):\n    if n in $d:\n        return $d[n]\n    if n < 2:\n"
        "        return <const>\n    $d[n] = $f(n - 1) + $f(n - 2)\n    return $d[n]\n"
        "$i = $f(<n> % 6){d $d}{i $i}",
    ),
    (0.5, "$g = walked(<l>)\n$i = next($g, 0)\n$g.close()\n$l = list($g){l $l}{i $i}"),
    (
        0.5,
        "$g = echoed()\nnext($g)\n$l = [$g.send(<I>) for _ in range(2)]{l $l}",
    ),
    (
        0.5,
        "$i = min([Pair(<W>, <I>), Pair(<W>, <I>)]).key{w $i}",
    ),
    (
        0.5,
        "$l = []\nfor $x in Level:\n    if <D>:\n        $l.append($x)\n    elif $x is Level.LOW:\n"
        "        $l.append(None)\n",
    ),
)

#: Kinds whose names show most when they are returned.
SHOWN = "lmdkeqoucy" + "rvpthswiz"

#: Classes and functions that programs use, by the names by which they do; each has variants.
PRELUDE: dict[str, tuple[str, ...]] = {
    "Node": (
        "@dataclass\nclass Node:\n    value: object\n    next: object = None",
        "class Node:\n    def __init__(self, value, next=None):\n        self.value = value\n"
        "        self.next = next",
        "class Node:\n    __slots__ = ('value', 'next')\n\n"
        "    def __init__(self, value, next=None):\n        self.value, self.next = value, next",
    ),
    "Chain": ("class Chain:\n    def __init__(self):\n        self.head = self.tail = None",),
    "Tree": (
        "class Tree:\n    def __init__(self, v):\n        self.v = v\n"
        "        self.left = self.right = None\n\n    def insert(self, v):\n"
        "        side = 'left' if v < self.v else 'right'\n"
        "        below = getattr(self, side)\n        if below is None:\n"
        "            setattr(self, side, Tree(v))\n        else:\n            below.insert(v)\n\n"
        "    def inorder(self, out):\n        if self.left:\n            self.left.inorder(out)\n"
        "        out.append(self.v)\n        if self.right:\n            self.right.inorder(out)\n"
        "        return out",
        "class Tree:\n    def __init__(self, v):\n        self.v, self.left, self.right = v, None, "
        "None\n\n    def insert(self, v):\n        at = self\n        while True:\n"
        "            if v < at.v:\n                if at.left is None:\n"
        "                    at.left = Tree(v)\n                    return\n"
        "                at = at.left\n            else:\n                if at.right is None:\n"
        "                    at.right = Tree(v)\n                    return\n"
        "                at = at.right\n\n    def inorder(self, out):\n"
        "        stack, at = [], self\n"
        "        while stack or at:\n            while at:\n                stack.append(at)\n"
        "                at = at.left\n            at = stack.pop()\n            out.append(at.v)\n"
        "            at = at.right\n        return out",
    ),
    "Box": (
        "class Box:\n    def __init__(self, v=0):\n        self.v = v\n        self.items = []\n"
        "        self.next = None\n\n    def bump(self, by):\n        self.v += by\n"
        "        if len(self.items) < 9:\n            self.items.append(by)\n"
        "        return len(self.items)\n\n"
        "    def __repr__(self):\n        return f'Box({self.v}, {self.items})'",
        "@dataclass\nclass Box:\n    v: object = 0\n    items: list = field(default_factory=list)\n"
        "    next: object = field(default=None, compare=False)\n\n    def bump(self, by):\n"
        "        self.v = by - self.v\n        return self.v",
        "class Box:\n    made = 0\n\n    def __init__(self, v=0):\n        Box.made += 1\n"
        "        self.v, self.items, self.next = v, [v], None\n\n    def bump(self, by):\n"
        "        print('bump', by)\n        self.items = [*self.items[-3:], by]\n"
        "        return Box.made\n\n    def __bool__(self):\n        return self.v > 1\n\n"
        "    def __eq__(self, other):\n        return self.v == other.v\n\n"
        "    def __repr__(self):\n        return f'<{self.v}>'",
    ),
    "Odd": (
        "class Odd:\n    def __init__(self, v):\n        self.v = v\n\n    def __bool__(self):\n"
        "        self.v += 1\n        return self.v % 2 == 0\n\n    def __contains__(self, k):\n"
        "        LOG.append(k)\n        return k == self.v\n\n    def __eq__(self, other):\n"
        "        print('eq')\n        return self.v == other.v\n\n    def __lt__(self, other):\n"
        "        return self.v % 3 < other.v % 3\n\n    def __len__(self):\n"
        "        return self.v % 4\n\n    def __getitem__(self, k):\n        self.v += k\n"
        "        return self.v\n\n    def __call__(self, k):\n        self.v = k\n"
        "        return k + 1\n\n    def __repr__(self):\n        return f'Odd({self.v})'",
        "class Odd:\n    seen = []\n\n    def __init__(self, v):\n        self.v = v\n\n"
        "    def __bool__(self):\n        return SHARED[0] > self.v\n\n"
        "    def __contains__(self, k):\n        return k in self.seen\n\n"
        "    def __eq__(self, other):\n        return NotImplemented\n\n"
        "    def __lt__(self, other):\n        self.seen.append(other.v)\n"
        "        return self.v < other.v\n\n    def __len__(self):\n"
        "        return len(self.seen) % 5\n\n    def __getitem__(self, k):\n"
        "        if k > 2:\n            raise IndexError(k, self.v)\n        return k * self.v\n\n"
        "    def __call__(self, k):\n        self.seen.append(k)\n        return len(self.seen)\n\n"
        "    def __str__(self):\n        print('str')\n        return 'odd'",
    ),
    "Count": (
        "class Count:\n    def __init__(self, stop):\n        self.k, self.stop = 0, stop\n\n"
        "    def __iter__(self):\n        return self\n\n    def __next__(self):\n"
        "        if self.k >= self.stop:\n            raise StopIteration\n        self.k += 1\n"
        "        return self.k",
        "class Count:\n    def __init__(self, stop):\n        self.left = list(range(stop))\n\n"
        "    def __iter__(self):\n        return self\n\n    def __next__(self):\n"
        "        if not self.left:\n            raise StopIteration\n"
        "        LOG.append(len(self.left))\n        return self.left.pop()",
        "class Count:\n    def __init__(self, stop):\n        self.k, self.stop = 0, stop\n\n"
        "    def __iter__(self):\n        print('iter')\n        return self\n\n"
        "    def __next__(self):\n        global TURNS\n        TURNS += 1\n"
        "        if self.k >= self.stop:\n            raise StopIteration\n"
        "        self.k += SHARED[1]\n        return self.k",
    ),
    "Bag": (
        "class Bag:\n    def __init__(self, items):\n        self.items = items\n\n"
        "    def __iter__(self):\n        return iter(self.items)",
        "class Bag:\n    def __init__(self, items):\n        self.items = items\n\n"
        "    def __iter__(self):\n        for v in self.items:\n            yield v\n",
        "class Bag:\n    def __init__(self, items):\n        self.items = items\n\n"
        "    def __getitem__(self, k):\n        return self.items[k]",
    ),
    "Pair": (
        "class Pair(NamedTuple):\n    key: object\n    value: object",
        "class Pair(NamedTuple):\n    key: object\n    value: object\n\n"
        "    def __lt__(self, other):\n        return self.value < other.value\n\n"
        "    def __gt__(self, other):\n        return self.value > other.value",
        "class Pair(NamedTuple):\n    key: object\n    value: object\n\n"
        "    def __lt__(self, other):\n        LOG.append(self)\n"
        "        return self.key + SHARED[1] < other.key",
    ),
    "Level": (
        "class Level(Enum):\n    LOW = 1\n    MID = 2\n    HIGH = 3",
        "class Level(IntEnum):\n    LOW = 1\n    MID = 2\n    HIGH = 3",
        "class Level(Enum):\n    LOW = 1\n    HIGH = 5\n\n    @classmethod\n"
        "    def _missing_(cls, key):\n        print('missing', key)\n        return cls.HIGH",
    ),
    "Stop": (
        "class Stop(Exception):\n    pass",
        "class Stop(Exception):\n    def __init__(self, code, text=''):\n"
        "        super().__init__(code, text)\n        self.code = code",
    ),
    "Entered": (
        "class Entered:\n    def __init__(self, items):\n        self.items = items\n\n"
        "    def __enter__(self):\n        return self.items\n\n"
        "    def __exit__(self, kind, error, trace):\n        LOG.append(len(self.items))\n"
        "        return kind is IndexError",
        "@contextmanager\ndef Entered(items):\n    print('in')\n    try:\n        yield items\n"
        "    finally:\n        print('out')",
    ),
    "first": (
        "def first(items, above=0):\n    for v in items:\n        if v > above:\n"
        "            return v\n    return -1",
        "def first(items, above=0):\n    return next((v for v in items if v > above), -1)",
    ),
    "last": (
        "def last(items):\n    v = 0\n    for v in items:\n        pass\n    return v",
        "def last(items):\n    return items.pop() if items else 0",
    ),
    "kept": (
        "def kept(v, seen=[]):\n    seen.append(v)\n    if len(seen) > 4:\n        del seen[0]\n"
        "    return seen",
        "def kept(v, seen=[]):\n    seen.append(v)\n    return list(seen[-3:])",
    ),
    "counted": (
        "def counted():\n    global TURNS\n    TURNS += 1\n    return TURNS",
        "def counted():\n    SHARED[1] = SHARED[1] % 3 + 1\n    return SHARED[1]",
    ),
    "said": ("def said(v):\n    print('said', v)\n    return v",),
    "both": (
        "def both(v):\n    if v > 2:\n        r = [v]\n        return r, r\n    return [1], [v]",
        "def both(v):\n    r = [v]\n    return r, r if v % 2 else [v]",
    ),
    "grown": (
        "def grown(items, v):\n    if len(items) < 7:\n        items.append(v)\n    return items",
        "def grown(items, v):\n    return items + [v] if v > 1 else items",
    ),
    "walked": (
        "def walked(items):\n    for v in items:\n        yield v",
        "def walked(items):\n    for k in range(len(items)):\n        yield items[k]",
        "def walked(items):\n    try:\n        yield from items\n    finally:\n"
        "        LOG.append('end')",
    ),
    "steps": (
        "def steps(n):\n    k = 0\n    while k < n:\n        yield k\n        k += 1",
        "def steps(n):\n    for k in range(n):\n        print('step', k)\n        yield k\n"
        "    return n",
    ),
    "echoed": ("def echoed():\n    got = 0\n    while True:\n        got = yield got + 1",),
    "depth": (
        "def depth(n):\n    if n <= 0:\n        return 0\n    return 1 + depth(n - 1)",
        "def depth(n, path=()):\n    if n <= 0:\n        return len(path)\n"
        "    return depth(n - 1, path + (n,))",
    ),
}
IMPORTS = {
    "dataclass": "from dataclasses import dataclass, field",
    "deque": "from collections import defaultdict, deque",
    "defaultdict": "from collections import defaultdict, deque",
    "Enum": "from enum import Enum, IntEnum",
    "IntEnum": "from enum import Enum, IntEnum",
    "NamedTuple": "from typing import NamedTuple",
    "contextmanager": "from contextlib import contextmanager",
    "np": "import numpy as np",
}
GLOBALS = {"LOG": "LOG = []", "SHARED": "SHARED = [2, 1]", "TURNS": "TURNS = 0"}
