import EmojiRangers
import FocusTimer
import NextUp
import OrderTracking
import Pager

/// Every attributes type of the corpus.
enum Corpus {
    static let all = values + properties + enums + keys + nested + conformances + apps + systems

    private static let id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

    private static let values = [
        CorpusType(PlainAttributes.self, #"{"name": "Roma", "count": 3, "ratio": 0.5, "isOn": true}"#),
        CorpusType(
            IntegersAttributes.self,
            #"{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1, "i": 1, "j": 1}"#,
            attributes: #"{"order": 7}"#),
        CorpusType(
            FloatsAttributes.self,
            #"{"single": 0.1, "double": 0.1, "interval": 90, "old": 1e3, "older": -2.5, "maybe": 1}"#,
            attributes: #"{"scale": 2.5}"#),
        CorpusType(
            DatesAttributes.self, #"{"at": 785393100.25, "until": 816944400, "all": [1, -1.5], "named": {"a": 0}}"#),
        CorpusType(BytesAttributes.self, #"{"picture": "aGk=", "more": ["", "Zg==", "/+8="]}"#),
        CorpusType(
            LinksAttributes.self,
            #"{"site": "https://example.com/a?b=%20#c", "others": ["mailto:a@b.c", "//h/p"], "maybe": "x"}"#),
        CorpusType(
            IdentifiersAttributes.self, #"{"current": "\#(id)", "previous": "\#(id)"}"#,
            attributes: #"{"order": "\#(id)"}"#),
        CorpusType(MoneyAttributes.self, #"{"price": 9.90, "discounts": [1, 0.01, -3e2]}"#),
        CorpusType(
            RangesAttributes.self,
            #"{"whole": [1, 3], "half": [0.5, 0.5], "words": ["a", "b"], "time": [785393100, 785393200]}"#,
            attributes: #"{"from": [1], "upTo": [0.5], "through": [[785393100]]}"#),
        CorpusType(
            GeometryAttributes.self, #"{"wait": [0, 1000000000000000000], "others": [[4, 16213023705161793536]]}"#,
            attributes: #"{"point": [1, 2.5], "size": [3, 4], "frame": [[0, 0], [1, 1]]}"#),
        CorpusType(EmptyAttributes.self, "{}", attributes: "{}"),
        CorpusType(
            OptionalsAttributes.self,
            #"{"number": 1, "text": "a", "twice": 2, "numbers": [1, null], "deep": [["a", null], null], "#
                + #""named": {"a": null, "b": 2}, "unwrapped": 3, "constant": true}"#),
        CorpusType(
            ListsAttributes.self,
            #"{"numbers": [1, 2], "words": [["a"], []], "long": [true], "close": [3], "set": ["a", "b"], "#
                + #""bytes": [1, 255], "sets": [[1, 2]]}"#),
        CorpusType(
            MapsAttributes.self,
            #"{"byName": {"a": 1}, "byNumber": {"7": "a"}, "byStatus": ["open", 1], "byPlace": [{"floor": 1}, "a"], "#
                + #""bySmall": [1, true], "byDouble": [0.5, [1]], "deep": {"a": {"b": [1]}}}"#),
        CorpusType(
            KeysAttributes.self,
            #"{"byName": {"a": 1}, "byFlag": [true, 1], "byDate": [1, "a"], "byList": [[1, 2], "a"]}"#),
    ]

    private static let properties = [
        CorpusType(
            DefaultsAttributes.self,
            #"{"progress": 0.5, "status": "ready", "count": 2, "eta": 5, "lines": ["a"]}"#),
        CorpusType(ConstantsAttributes.self, #"{"count": 1, "status": "a"}"#),
        CorpusType(PropertiesAttributes.self, #"{"first": 1, "second": 2, "hidden": "a", "third": 3}"#),
        CorpusType(
            SeveralAttributes.self, #"{"a": 1, "b": 2, "c": 3, "d": "d", "e": 0.5, "f": true, "g": [1]}"#,
            attributes: #"{"x": 1, "y": 2.5, "z": 3}"#),
        CorpusType(
            InferredAttributes.self,
            #"{"whole": 1, "negative": -1, "ratio": 1.5, "small": -0.5, "isOn": true, "isOff": false, "text": "b", "#
                + #""numbers": [1], "mixed": [1.5], "some": [null, 2], "table": [[1]], "names": {"a": 1}, "#
                + #""byNumber": {"1": "a"}, "grouped": 5, "seconds": 60, "part": 0.3, "joined": "a", "#
                + #""span": [1, 2], "half": [0.5, 1.5], "cast": 1.5, "maybe": 1, "hex": 255, "big": 1}"#),
        CorpusType(
            MadeAttributes.self,
            #"{"at": 1.5, "since": 1, "now": 1, "id": "\#(id)", "bytes": "aGk=", "numbers": [1], "#
                + #""names": {"a": true}, "set": ["a"], "long": [1], "text": "a", "double": 0.5, "most": 1, "#
                + #""byte": 1, "pi": 3.14, "zero": 0, "status": "open", "first": "closed", "step": {"waiting": {}}, "#
                + #""moving": {"moving": {"_0": 1}}, "place": {"floor": 1}, "other": {"floor": 1}, "#
                + #""made": {"floor": 1}, "known": {"floor": 1}, "site": "https://a.b", "sure": "https://a.b", "#
                + #""none": 1, "price": 1.5, "maybe": "\#(id)"}"#,
            attributes: #"{"order": "\#(id)"}"#),
        CorpusType(
            QuotedAttributes.self,
            #"{"default": 1, "class": "a", "größe": 1.5, "名前": "a", "_private": true, "snake_case": 1}"#,
            attributes: #"{"in": "a"}"#),
        CorpusType(
            CommentedAttributes.self, #"{"status": "a", "eta": 1, "text": "b"}"#,
            attributes: #"{"order": "7", "place": "a"}"#),
        CorpusType(LazyAttributes.self, #"{"count": 1}"#),
    ]

    private static let enums = [
        CorpusType(
            WordsAttributes.self,
            #"{"status": "picked_up", "later": "default", "all": ["café", "say \"hi\"\n🍕", "a\\b", ""]}"#,
            attributes: #"{"first": "preparing"}"#),
        CorpusType(
            NumbersAttributes.self,
            #"{"level": 2, "odd": 32, "ratio": 2, "small": 255, "byLevel": [0, 1]}"#,
            #"{"level": 0, "odd": -1, "ratio": 0.5, "small": 2, "byLevel": []}"#, attributes: #"{"order": 7}"#),
        CorpusType(AliasRawAttributes.self, #"{"status": "shut"}"#),
        CorpusType(
            RawStructAttributes.self,
            #"{"name": "a", "number": 1, "options": 3, "maybe": "b", "reference": {"rawValue": "\#(id)"}, "#
                + #""byName": ["a", 1]}"#,
            attributes: #"{"name": "a"}"#),
        CorpusType(
            RawKindsAttributes.self,
            #"{"octal": 257, "gain": 0.25, "wait": 60, "flag": true, "ratio": 0.5, "length": 1.5, "#
                + #""width": {"rawValue": 1}, "price": {"rawValue": 9.9}}"#),
        CorpusType(
            StepsAttributes.self,
            #"{"step": {"waiting": {}}, "next": {"moving": {"_0": 0.5}}, "#
                + #""all": [{"at": {"place": "a", "floor": 1}}, {"two": {"_0": 1, "_1": "a"}}, "#
                + #"{"mixed": {"_0": 1, "named": "a", "_2": true}}, {"late": {"by": 1}}]}"#),
        CorpusType(
            BareCasesAttributes.self, #"{"phase": {"on": {}}, "byPhase": [{"off": {}}, 1]}"#,
            attributes: #"{"phase": {"off": {}}}"#),
        CorpusType(
            RenamedCasesAttributes.self, #"{"step": {"w": {}}}"#, #"{"step": {"moving": {"v": 1, "from": "a"}}}"#,
            #"{"step": {"iPad": {"count": 1}}}"#),
        CorpusType(
            EnumStateAttributes.self, #"{"waiting": {}}"#, #"{"onTheWay": {"minutes": 5}}"#,
            #"{"done": {"at": 1, "by": "a"}}"#),
        CorpusType(
            DeepEnumAttributes.self,
            #"{"expression": {"sum": {"_0": {"number": {"_0": 1}}, "#
                + #""_1": {"named": {"_0": {"a": {"number": {"_0": 2}}}}}}}}"#),
        CorpusType(
            LoadableAttributes.self,
            #"{"score": {"loaded": {"_0": 1}}, "names": {"failed": {"reason": "a", "last": ["b"]}}, "#
                + #""maybe": {"loaded": {"_0": null}}}"#,
            #"{"score": {"loading": {}}, "names": {"loaded": {"_0": ["a"]}}, "maybe": {"failed": {"reason": "a"}}}"#),
    ]
}
