import EmojiRangers
import FocusTimer
import NextUp
import OrderTracking
import Pager

extension Corpus {
    static let keys = [
        CorpusType(
            RenamedAttributes.self, #"{"order_status": "a", "eta": 5, "plain": true}"#, attributes: #"{"no": "7"}"#),
        CorpusType(OmittedAttributes.self, #"{"status": "a"}"#),
        CorpusType(KeysElsewhereAttributes.self, #"{"1": 1, "second": "a"}"#),
        CorpusType(AliasedKeysAttributes.self, #"{"v": 1.5, "u": "kg"}"#),
        CorpusType(NumberedKeysAttributes.self, #"{"first": 1, "second": 2}"#),
        CorpusType(
            OddKeysAttributes.self,
            #"{"a/b~c": 1, "": 2, "$ref": 3, "type": 4, "🍕": 5, "\"\\": 6}"#, attributes: #"{"default": "a"}"#),
        CorpusType(ConstantKeysAttributes.self, #"{"v": 1, "name": "a"}"#),
        CorpusType(WrappedButOmittedAttributes.self, #"{"shown": 1}"#),
        CorpusType(OrderedKeysAttributes.self, #"{"b": "x", "c": 1, "a": true}"#),
    ]

    static let nested = [
        CorpusType(
            ShopAttributes.self,
            #"{"lines": [{"what": "a", "price": {"amount": 1.5, "currency": "EUR"}}], "#
                + #""courier": {"name": "Mia", "phone": "1"}, "total": {"amount": 1, "currency": "EUR"}}"#,
            attributes: #"{"first": {"what": "a", "price": {"amount": 1.5, "currency": "EUR"}}}"#),
        CorpusType(
            ShadowAttributes.self, #"{"status": "inner", "outer": "outer"}"#, attributes: #"{"status": "outer"}"#),
        CorpusType(
            HidingAttributes.self,
            #"{"date": {"day": "1"}, "real": 1.5, "data": "small", "set": {"only": true}, "realSet": [false], "#
                + #""int": "a", "realInt": 1}"#),
        CorpusType(
            TreeAttributes.self,
            #"{"root": {"value": 1, "children": [{"value": 2, "children": []}], "#
                + #""named": {"a": {"value": 3, "children": []}}}}"#),
        CorpusType(
            SelfContainingAttributes.self,
            #"{"value": 1, "history": [{"value": 2, "history": []}], "other": [{"value": 3, "history": []}]}"#,
            attributes: #"{"parents": [{"parents": []}], "states": [{"value": 1, "history": []}]}"#),
        CorpusType(NamespacedAttributes.self, #"{"stage": 2, "history": ["two"]}"#, attributes: #"{"old": "one"}"#),
        CorpusType(
            ExtendedAttributes.self, #"{"place": {"floor": 1, "kind": "work"}, "tag": {"text": "a"}}"#,
            attributes: #"{"order": "7", "place": {"floor": 1, "kind": "home"}}"#),
        CorpusType(
            QualifiedAttributes.self,
            #"{"number": 1, "at": 1.5, "list": ["a"], "maybe": true, "shared": {"floor": 1}, "own": "b"}"#),
        CorpusType(
            AliasedAttributes.self,
            #"{"eta": 1, "later": 2, "names": ["a"], "table": {"a": 1}, "tables": {"a": {"b": true}}, "#
                + #""pair": {"first": "a", "second": 1}, "mine": {"first": "a", "second": 1}, "maybe": 1}"#),
        CorpusType(
            GenericAttributes.self,
            #"{"number": {"value": 1, "maybe": 2, "inner": [{"deep": 3, "again": "#
                + #"{"value": "a", "inner": [], "values": []}}], "values": [4]}, "#
                + #""flag": {"value": true, "inner": [], "values": []}, "inner": {"deep": 0.5}, "#
                + #""boxed": {"first": {"first": 1, "second": true}, "second": [{"first": "a", "second": 1}]}}"#,
            attributes: #"{"order": {"deep": 1, "again": null}}"#),
        CorpusType(
            GenericOptionalAttributes.self,
            #"{"couple": {"first": null, "second": "a"}, "twice": {"first": true, "second": [null, 1]}, "#
                + #""aliased": {"a": null}}"#),
        CorpusType(ConditionalAttributes.self, #"{"a": {"wrapped": 1}, "b": {"wrapped": {"wrapped": "a"}}}"#),
        CorpusType(FirstTwinAttributes.self, #"{"twin": {"one": 1}, "status": "one"}"#, attributes: #"{"twins": []}"#),
        CorpusType(
            SecondTwinAttributes.self,
            #"{"twin": {"two": "a"}, "status": 2, "shared": {"kind": "far", "others": [{"at": 1}]}}"#,
            attributes: #"{"twins": {"a": {"two": "b"}}}"#),
        CorpusType(
            AcrossAttributes.self,
            #"{"kind": "near", "item": {"kind": "far", "others": []}, "others": [{"at": 1.5}]}"#,
            attributes: #"{"item": {"kind": "far", "others": [{}]}}"#),
    ]

    static let conformances = [
        CorpusType(
            ProtocolsAttributes.self,
            #"{"id": "a", "items": [{"id": "b", "name": 1}], "price": {"amount": 0.5}, "later": {"at": 1}, "#
                + #""parts": {"a": 1}}"#),
        CorpusType(OneWayAttributes.self, #"{"lines": [{"what": "a"}]}"#),
        CorpusType(ClassesAttributes.self, #"{"leaf": {"value": 1, "next": {"value": 2}}}"#),
        CorpusType(ModelClassAttributes.self, #"{"leaf": {"id": "a", "value": 1}}"#),
        CorpusType(SubclassesAttributes.self, #"{"own": {"own": "a"}, "derived": {"id": 1}, "last": {"id": 2}}"#),
        CorpusType(GenericClassAttributes.self, #"{"number": {"value": 1}}"#),
        CorpusType(EncodesItselfAttributes.self, #"{"status": "a", "count": 1}"#),
        CorpusType(OtherInitAttributes.self, #"{"status": "a"}"#),
        CorpusType(DirectivesAttributes.self, #"{"status": "a", "count": 1}"#),
    ]

    private static let flight = #"{"phase": "check-in", "gate": {"terminal": "1", "number": 5}, "#

    static let apps = [
        CorpusType(
            FlightAttributes.self, flight + #""departure": 1.5, "arrival": 2, "delay": 60, "progress": 0.5}"#,
            attributes: #"{"number": "a", "from": {"code": "a", "city": "b"}, "to": {"code": "a", "city": "b"}}"#),
        CorpusType(
            MatchAttributes.self,
            #"{"score": [1, 0], "minute": 45, "clock": [1, 2], "events": [{"halfTime": {}}, "#
                + #"{"goal": {"team": 1, "minute": 3, "scorer": "a"}}, {"card": {"team": 0, "isRed": true}}]}"#,
            attributes: #"{"home": "a", "away": "b", "league": "c"}"#),
        CorpusType(
            RideAttributes.self,
            #"{"driver": {"latitude": 1, "longitude": 2}, "stops": [{"latitude": 1.5, "longitude": 2}], "eta": 1, "#
                + #""fare": 9.9, "plate": "a", "colour": 4294967295}"#,
            attributes: #"{"id": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "pickUp": {"latitude": 1, "longitude": 2}}"#),
        CorpusType(
            WorkoutAttributes.self,
            #"{"heartRate": 120, "splits": {"1": 300.5}, "zones": {"a": [1, 2]}, "unit": 1, "isPaused": false}"#,
            attributes: #"{"plan": ["a"], "goal": {"distance": {"_0": 5}}}"#),
        CorpusType(
            DownloadAttributes.self,
            #"{"files": [{"id": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "name": "a", "done": 1, "total": 2}], "#
                + #""checksum": "aGk=", "source": "https://a.b/c"}"#,
            attributes: #"{"title": "a"}"#),
    ]

    /// The types of the five systems, from `Examples`.
    static let systems = [
        CorpusType(
            OrderTrackingAttributes.self, stateType: OrderTrackingAttributes.ContentState.self,
            [#"{"status": "delivering", "progress": 0.8, "eta": 5}"#],
            attributes: #"{"orderId": "7", "restaurant": "Da Mario"}"#),
        CorpusType(
            AdventureAttributes.self, stateType: AdventureAttributes.ContentState.self,
            [
                #"{"currentHealthLevel": 0.94, "eventDescription": "A sword!", "party": "#
                    + #"[{"player": "alice", "name": "Power Panda", "avatar": "🐼"}]}"#
            ],
            attributes: #"{"adventureID": "cave", "place": "the cave"}"#),
        CorpusType(
            FocusTimerAttributes.self, stateType: FocusTimerAttributes.ContentState.self,
            [#"{"startedAt": 816944400, "pausedAt": 816944500.5, "endedAt": 816944600}"#],
            attributes: #"{"sessionID": "1", "title": "Deep work", "length": 1500}"#),
        CorpusType(
            PagerMessageAttributes.self, stateType: PagerMessageAttributes.ContentState.self,
            [
                #"{"sender": "Ada", "message": "Come", "isDemo": false, "messageIndex": 1, "totalMessages": 1, "#
                    + #""timestamp": 816944400}"#
            ],
            attributes: #"{"messageID": "1"}"#),
        CorpusType(
            NextUpAttributes.self, stateType: NextUpAttributes.ContentState.self,
            [#"{"goal": "run", "title": "Run", "remaining": 2}"#], attributes: #"{"person": "ada"}"#),
    ]
}
