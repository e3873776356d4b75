import APNSModel
import JSONText
import LiveActivityCore
import TestSupport

/// Rows whose columns are set or empty at random.
struct RandomRows {
    var dice: SeededDice

    init(seed: UInt64) {
        dice = SeededDice(seed: seed)
    }

    mutating func maybe<Value>(_ make: (inout Self) -> Value) -> Value? { dice.chance(50) ? make(&self) : nil }
    mutating func time() -> UnixTime { UnixTime(milliseconds: Int64(dice.next() >> 20)) }
    mutating func number() -> Int64 { Int64(bitPattern: dice.next()) >> Int64(dice.roll(63)) }
    mutating func count() -> Int { dice.roll(1 << 30) }
    mutating func token() -> TokenValue { TokenValue(Sample.token("\(dice.next())", as: UpdateTokenKind.self)) }
    mutating func environment() -> APNSEnvironment { dice.pick(APNSEnvironment.allCases) }

    /// Returns text with characters that a column, JSON or a shell may mishandle.
    mutating func text() -> String {
        let letters = ["a", "Z", "é", "🍕", "\"", "\\", "'", "%", "\n", "\t", " ", "[", "default", "\u{301}", "0"]
        return (0...dice.roll(9)).map { _ in dice.pick(letters) }.joined()
    }

    mutating func reason() -> Reason {
        let code = dice.pick(Reason.Code.allCases)
        switch dice.roll(3) {
        case 0: return Reason(code)
        case 1: return Reason(code, text())
        default: return Reason(code, "", text(), "")
        }
    }

    mutating func object() -> EncodedObject {
        EncodedObject(["text": .string(text()), "number": .number(JSONNumber(Int(number()))), "none": .null])
    }

    mutating func alertText() -> PushAlert.Text {
        dice.chance(50) ? .text(text()) : .localized(key: text(), arguments: (0..<dice.roll(3)).map { _ in text() })
    }

    mutating func activity(_ number: ActivityNumber) -> ActivityRecord {
        var row = ActivityRecord(
            number: number, app: Sample.bundleID, id: Sample.activityID("\(number) \(text())"), type: text(), at: time()
        )
        row.phase = dice.pick(ActivityRecord.Phase.allCases)
        row.run = count()
        row.revision = self.number()
        row.priority = dice.pick(ActivityRecord.PriorityWish.allCases)
        row.relevance = maybe { $0.dice.fraction() }
        row.staleAt = maybe { $0.time() }
        row.staleAfter = maybe { .milliseconds($0.count()) }
        row.start = dice.pick(ActivityRecord.StartMode.allCases)
        row.devices = dice.pick([
            .lastActive, .all, .only([]), .only([Sample.device(text()), Sample.device(text())]),
            .one(Sample.device(text())),
        ])
        row.restart = dice.pick(ActivityRecord.Restart.allCases)
        row.alert = maybe { rows in
            AlertRecord(
                id: rows.text(), revision: rows.number(),
                alert: PushAlert(
                    title: rows.alertText(), body: rows.maybe { $0.alertText() }, sound: rows.maybe { $0.text() }),
                expiresAt: rows.time(), keep: rows.dice.chance(50),
                onUnknown: rows.dice.pick(AlertRecord.OnUnknown.allCases),
                onChannels: rows.dice.pick(ChannelAlerts.allCases))
        }
        row.fallback = maybe { rows in
            PushAlert(title: rows.alertText(), body: rows.maybe { $0.alertText() }, sound: rows.maybe { $0.text() })
        }
        row.dismissal = dice.pick([.systemDefault, .immediate, .at(time())])
        row.changedAt = time()
        row.acceptedAt = time()
        row.holdUntil = time()
        row.lap = self.number()
        row.begunLap = self.number()
        row.wakeAt = maybe { $0.time() }
        row.refreshAt = maybe { $0.time() }
        row.refreshedSince = maybe { $0.time() }
        row.endedAt = maybe { $0.time() }
        row.clientSequence = maybe { Int64($0.dice.next() >> 1) }
        row.hasChannels = dice.chance(50)
        return row
    }

    mutating func content(_ number: ActivityNumber) -> ContentRecord {
        var row = ContentRecord(
            activity: number, revision: self.number(), state: object(), digest: dice.next(), attributes: object(),
            attributesDigest: dice.next())
        if dice.chance(50) { row.unfit = UnfitBuilds(stored: dice.pick(["..<90", "..<1.2,90..<120;", ";7..<8"])) }
        return row
    }

    mutating func lane(_ number: ActivityNumber) -> LaneRecord {
        var row = LaneRecord(activity: number)
        row.position = self.number()
        row.stop = self.number()
        row.hasWrapped = dice.chance(50)
        row.lap = self.number()
        row.lookAt = maybe { $0.time() }
        row.nextAt = maybe { $0.time() }
        row.fence = self.number()
        row.tries = count()
        row.reason = maybe { $0.reason() }
        row.counts.onChannel = count()
        row.channelRun = count()
        row.flight = maybe { rows in
            FlightRecord(
                node: rows.number(), claimedAt: rows.time(), leaseUntil: rows.time(), fromDevice: rows.number(),
                toDevice: rows.number(),
                devices: rows.maybe { rows in (0..<rows.dice.roll(5)).map { _ in rows.number() } },
                revision: rows.number(), timestamp: rows.number(), seed: rows.dice.next())
        }
        return row
    }

    mutating func device(_ key: DeviceKey) -> DeviceRecord {
        var row = DeviceRecord(
            key: key, app: Sample.bundleID, id: Sample.device("\(key) \(text())"), user: number(),
            userID: Sample.user(text()), at: time())
        row.platform = text()
        row.timeZone = maybe { $0.text() }
        row.locale = maybe { $0.text() }
        row.osVersion = maybe { OSVersion($0.dice.roll(30), $0.dice.roll(9)) }
        row.appVersion = maybe { $0.text() }
        row.build = maybe { $0.text() }
        row.model = maybe { $0.text() }
        row.environment = maybe { $0.environment() }
        row.activitiesEnabled = maybe { $0.dice.chance(50) }
        row.frequentPushesEnabled = maybe { $0.dice.chance(50) }
        row.channels = maybe { $0.dice.chance(50) }
        row.notificationAuthorization = maybe { $0.text() }
        row.inventorySequence = number()
        row.reportSequence = number()
        row.contactAt = time()
        row.signedOutAt = maybe { $0.time() }
        row.credentials = (0..<dice.roll(3)).map { _ in
            PhoneCredentialRecord(
                secretHash: (0..<32).map { _ in UInt8(truncatingIfNeeded: dice.next()) }, createdAt: time(),
                usedAt: maybe { $0.time() })
        }
        row.made.since = time()
        row.made.cards = count()
        row.made.tokens = count()
        row.made.waiting = count()
        return row
    }

    mutating func instance(_ activity: ActivityNumber, _ device: DeviceKey) -> CardMachine {
        var row = CardColumns(activity: activity, device: device, run: count(), at: time())
        row.state = dice.pick(CardState.allCases)
        row.sentRevision = number()
        row.shownRevision = number()
        row.timestamp = number()
        row.pushedAlert = number()
        row.tokenGeneration = number()
        row.tries = count()
        row.dueAt = maybe { $0.time() }
        row.lookAt = maybe { $0.time() }
        row.parkedRevision = number()
        row.awaitsUntil = maybe { $0.time() }
        row.reportSequence = number()
        row.reportedAt = maybe { $0.time() }
        row.awaitedUntil = maybe { $0.time() }
        row.awaitedAlert = maybe { $0.number() }
        row.localID = maybe { Sample.local($0.text()) }
        row.startedAt = maybe { $0.time() }
        row.startExpiresAt = maybe { $0.time() }
        row.lastHighAt = maybe { $0.time() }
        row.contradictions = count()
        row.isWanted = dice.chance(50)
        row.mayStart = dice.chance(50)
        row.toldRevision = maybe { $0.number() }
        row.predecessorTries = count()
        row.predecessorDueAt = maybe { $0.time() }
        row.leaseUntil = maybe { $0.time() }
        row.stateBefore = dice.pick(CardState.allCases)
        row.isLocalAhead = dice.chance(50)
        row.endsOther = dice.chance(50)
        if dice.chance(50) {
            row.successorAt = time()
            row.successorExpiresAt = time()
            row.successorSequence = number()
        }
        row.isEvicted = dice.chance(50)
        row.channel = maybe { $0.channelID() }
        row.last = maybe { rows in
            LastDelivery(
                kind: rows.dice.pick(PushKind.allCases), at: rows.time(), revision: rows.number(),
                status: rows.dice.pick([0, 200, 410]), reason: rows.reason())
        }
        // Values that the state does not have are dropped.
        return CardMachine(row)
    }

    mutating func updateToken(_ activity: ActivityNumber, _ device: DeviceKey) -> UpdateTokenRecord {
        var row = UpdateTokenRecord(
            activity: activity, device: device, generation: number(), environment: environment(), value: token(),
            firstSeenAt: time())
        row.deadAt = maybe { $0.time() }
        row.predecessor = maybe { $0.token() }
        return row
    }

    mutating func deviceToken(_ device: DeviceKey) -> DeviceTokenRecord {
        var row = DeviceTokenRecord(
            device: device, kind: dice.pick([.device, .pushToStart]), type: text(), generation: number(),
            environment: environment(), value: token(), firstSeenAt: time())
        row.deadAt = maybe { $0.time() }
        row.missedStarts = count()
        return row
    }

    mutating func owner() -> TokenOwnerRecord {
        var row = TokenOwnerRecord(
            app: dice.pick([Sample.bundleID, Sample.bundle("com.acme.taxi")]), value: token(),
            kind: dice.pick([.device, .pushToStart, .update]), device: number(), activity: number(), firstSeenAt: time()
        )
        row.deadAt = maybe { $0.time() }
        row.releasedAt = maybe { $0.time() }
        return row
    }

    mutating func tombstone(_ device: DeviceKey) -> TombstoneRecord {
        TombstoneRecord(
            device: device, localID: Sample.local(text()), activity: number(),
            state: dice.pick(CardState.allCases), at: time())
    }

    mutating func history(_ activity: ActivityNumber) -> HistoryRecord {
        let entries = (0..<dice.roll(4)).map { _ in
            HistoryEntry(
                dice.pick(HistoryEntry.Kind.allCases), device: maybe { $0.number() }, at: time(), revision: number(),
                timestamp: number(), priority: dice.pick([0, 5, 10]), carriesAlert: dice.chance(50),
                status: dice.pick([0, 200, 410]), reason: maybe { $0.reason() }, outcome: maybe { $0.reason() },
                detail: text(), pushID: maybe { PushID(high: $0.dice.next(), low: $0.dice.next()) })
        }
        return HistoryRecord(activity: activity, at: time(), revision: number(), entries: entries)
    }

    mutating func notification() -> NotificationRecord {
        var row = NotificationRecord(
            number: NotificationRecord.number(random: dice.next()), app: Sample.bundleID,
            kind: dice.pick(NotificationRecord.Kind.allCases), payload: Array(text().utf8),
            collapseID: maybe { CollapseID("c\($0.count())") } ?? nil, expiresAt: time(),
            fallback: maybe { .init(activity: $0.number(), run: $0.count(), revision: $0.number()) }, at: time())
        row.addressees = count()
        return row
    }

    mutating func addressee(_ notification: NotificationNumber) -> AddresseeRecord {
        var row = AddresseeRecord(
            notification: notification, device: number(), user: Sample.user(text()), dueAt: maybe { $0.time() })
        row.tries = count()
        row.triedOther = dice.chance(50)
        row.reason = maybe { $0.reason() }
        return row
    }

    mutating func refresh(_ user: UserNumber) -> RefreshRecord {
        var row = RefreshRecord(user: user, type: text(), app: Sample.bundleID, userID: Sample.user(text()))
        row.asked = number()
        row.done = number()
        row.pace = dice.pick(RefreshRecord.Pace.allCases)
        row.dueAt = maybe { $0.time() }
        row.fence = number()
        row.node = maybe { $0.number() }
        row.tries = count()
        row.failure = maybe { $0.text() }
        row.finishedAt = maybe { $0.time() }
        return row
    }

    mutating func channelID() -> ChannelID { ChannelID("AAAA\(1000 + dice.roll(9000))").unsafelyUnwrapped }

    mutating func channel(_ activity: ActivityNumber) -> ChannelRecord {
        let key = ChannelKey(activity, environment(), run: count())
        var row = ChannelRecord(key, app: Sample.bundleID, storage: dice.pick(MessageStoragePolicy.allCases))
        row.life = dice.pick([.wanted, .lost, .refused, .open(channelID())])
        row.hasCards = dice.chance(50)
        row.isAwaited = dice.chance(50)
        row.sentRevision = number()
        row.parkedRevision = number()
        row.alertedRevision = number()
        row.timestamp = number()
        row.lastAt = maybe { $0.time() }
        row.lastHighAt = maybe { $0.time() }
        row.budget = maybe { rows in
            var budget = BudgetRecord(device: 0, kind: .high, at: rows.time())
            budget.hour = rows.number()
            budget.day = rows.number()
            return budget
        }
        row.ends = count()
        row.overAt = maybe { $0.time() }
        row.tries = count()
        row.reason = maybe { $0.reason() }
        row.retryAt = maybe { $0.time() }
        row.dueAt = maybe { $0.time() }
        row.fence = number()
        row.flight = maybe { rows in
            var flight = ChannelFlight(
                rows.dice.pick(ChannelFlight.Kind.allCases), node: rows.number(), claimedAt: rows.time(),
                leaseUntil: rows.time())
            flight.revision = rows.number()
            flight.timestamp = rows.number()
            flight.alertRevision = rows.number()
            return flight
        }
        return row
    }

    mutating func memo(_ user: UserNumber) -> MemoRecord {
        MemoRecord(user: user, type: text(), zone: text(), day: text(), memo: maybe { Array($0.text().utf8) })
    }

    /// Adds some rows to every table.
    mutating func fill(_ draft: inout Draft) {
        for number in Int64(1)...3 {
            draft.put(activity(number))
            draft.put(content(number))
            draft.put(lane(number))
            draft.put(channel(number))
            draft.put(StrangerKey(PushRoute(Sample.bundleID, environment()), channelID()))
            draft.record(history(number))
            draft.record(history(number))
            let notification = notification()
            draft.put(notification)
            for _ in 0..<3 { draft.put(addressee(notification.number)) }
            for _ in 0..<3 {
                let key = DeviceKey(dice.next() >> 1)
                draft.put(device(key))
                draft.put(instance(number, key))
                draft.put(updateToken(number, key))
                draft.put(deviceToken(key))
                draft.put(tombstone(key))
                draft.put(owner())
                let user = draft.user(Sample.bundleID, Sample.user("\(key) \(text())"))
                draft.addMember(user, to: number)
                draft.put(refresh(user))
                draft.put(memo(user))
            }
        }
    }
}
