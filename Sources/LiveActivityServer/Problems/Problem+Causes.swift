import APNSModel
import HTTPTypes
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage

extension Problem {
    /// Creates a refusal of text that is not JSON within the limits. It names line, column and pointer, never a value.
    init(_ error: JSONSyntaxError) {
        self.init(.invalidJSON, error.description, pointer: error.pointer.description)
    }

    /// Creates a refusal of a value in the body that does not match the call.
    init(_ error: JSONDecodingError) {
        let given = Self.quotable(error.given)
        let place = error.pointer == .root ? "the body" : error.pointer.description
        let detail =
            switch error.code {
            case .missing: "\(place): missing, expected \(error.expected)"
            case .unknownField: "\(place): this call has no such field"
            case .wrongType, .invalidValue: "\(place): expected \(error.expected), given \(given)"
            }
        self.init(
            .invalidBody, detail, pointer: error.pointer.description, expected: error.expected, given: given,
            fix: error.fix)
    }

    /// Returns a quotation that may appear in an answer. A long text may be a token or key in the wrong field.
    static func quotable(_ given: String) -> String {
        let mayBeSecret = given.utf8.count > 30 || given.contains(APIKey.prefix)
        guard mayBeSecret else { return given }
        return given.hasPrefix("\"") ? "a string" : given.hasPrefix("`") ? "another field" : "another value"
    }

    /// Creates a problem from a refusal of the core. A new refusal does not compile until it is handled here.
    init(_ refusal: Refusal) {
        switch refusal {
        case .unknownActivity(let id): self.init(.unknownActivity, "this app has no activity `\(id)`")
        case .unknownDevice(let id):
            self.init(
                .unknownDevice, "this app has no device `\(id)`",
                fix: "register it first: PUT /v1/devices/{device} with its `user`")
        case .deviceTaken(let id): self = Self.taken(id)
        case .tooManyAwaiting(let limit): self = Self.tooManyAwaiting(limit)
        case .tooManyCards(let limit): self = Self.tooManyCards(limit)
        case .tooManyDevices(let limit): self = Self.tooManyDevices(limit)
        case .tooManyTokens(let limit): self = Self.tooManyTokens(limit)
        case .deviceChangesHands(let id): self = Self.changesHands(id)
        case .activityEnded(let id):
            self.init(
                .activityEnded, "the activity `\(id)` has ended: its cards are over",
                fix: "set `reopen` to true to begin a new run, or use another id")
        case .notAnActivityYet(let id):
            self.init(
                .noStateYet, "a phone reported a card of `\(id)`, but no state was set yet",
                fix: "set one first: PUT /v1/activities/{activity}")
        case .typeDiffers(let id, let type):
            self.init(
                .typeDiffers, "the activity `\(id)` is of the type `\(type)`", pointer: "/type",
                expected: "`\(type)`", fix: "the type of an activity cannot change: use another id")
        case .attributesDiffer(let id):
            self.init(
                .attributesDiffer, "the attributes of `\(id)` are fixed while it runs (ActivityKit)",
                pointer: "/attributes", fix: "leave `attributes` out, or end the activity and reopen it")
        case .activityIDConflict(let pointer):
            self.init(
                .activityIDConflict,
                "the attribute \(pointer) names another activity than the path, or cannot hold its id",
                pointer: "/attributes\(pointer)", expected: "the id of the path",
                fix: "leave it out: the server fills it in")
        case .payloadTooLarge(let error, let sizes):
            self.init(error)
            if !sizes.isEmpty { self.sizes = sizes.map(ProblemDetails.FieldSize.init) }
        case .contractViolation(let violation): self.init(violation)
        case .audienceTooLarge(let limit): self = Self.audienceTooLarge(limit)
        case .deadToken: self = Self.tokenIsDead
        case .unknownType(let type):
            self.init(
                .unknownType, "the activity is of the type `\(type)`, which is no longer configured",
                fix: "add the type to the configuration")
        case .revisionDiffers(let id, let current): self.init(differing: id, current)
        case .idempotencyKeyReused:
            self.init(
                .idempotencyKeyReused,
                "this key was used within the last 24 hours with another method, path, query or body",
                fix: "use a new key for a new call, and repeat a call unchanged")
        case .sessionReplaced(let id):
            self.init(
                .sessionReplaced, "a newer replacement of the audience of `\(id)` took the place of this one",
                fix: "if this replacement is the newer one, send it again from its first page with a new `session`")
        case .sessionClosed(let id):
            self.init(
                .sessionClosed,
                "this replacement of the audience of `\(id)` already ended with its last page, and this page names "
                    + "new people",
                fix: "use `add`, or begin again under a new `session`")
        case .activityNotNamed:
            self.init(
                .activityNotNamed,
                "the report has no `activity`, its attributes name no activity, and no open start matches it",
                pointer: "/activity",
                fix: "report `activity`, or the card's `attributes`")
        }
    }

    private static func audienceTooLarge(_ limit: Int) -> Problem {
        Problem(
            .audienceTooLarge, "one call names, or replaces, at most \(limit) users", pointer: "/audience/users",
            expected: "at most \(limit) users",
            fix: "change a larger audience page by page: POST /v1/activities/{activity}/audience")
    }

    private static func taken(_ id: DeviceID) -> Problem {
        Problem(
            .deviceTaken, "another person is signed in on `\(id)`, or was and never signed out",
            fix: "send the phone's credential in `Islet-Device-Credential`, let the backend register the device, or "
                + "sign the other person out")
    }

    private static func tooManyAwaiting(_ limit: Int) -> Problem {
        Problem(
            .tooManyAwaiting,
            "a phone may report at most \(limit) cards in 24 hours of activities whose audience "
                + "does not include its person",
            expected: "at most \(limit)", fix: "let the backend name the person in the activities' audiences")
    }

    private static let tokenIsDead = Problem(
        .deadToken, "APNs refused this token, or a newer token replaced it. A dead token cannot be used again",
        pointer: "/token",
        fix: "the app reads the token anew and reports the new one")

    private static func tooManyCards(_ limit: Int) -> Problem {
        Problem(
            .tooManyCards,
            "a phone may report at most \(limit) new cards in 24 hours of activities whose audience "
                + "does not include its person",
            expected: "at most \(limit)", fix: "let the backend name the person in the activities' audiences")
    }

    private static func tooManyDevices(_ limit: Int) -> Problem {
        Problem(
            .tooManyDevices, "this person has \(limit) devices that were heard of in the last 30 days",
            expected: "at most \(limit)", fix: "let the backend register further ones")
    }

    private static func tooManyTokens(_ limit: Int) -> Problem {
        Problem(
            .tooManyTokens, "a device may report at most \(limit) new tokens in 24 hours; nothing was changed",
            pointer: "/token",
            expected: "at most \(limit)", fix: "report a token once, and again only when it has changed",
            headers: [.retryAfter: "3600"])
    }

    private static func changesHands(_ id: DeviceID) -> Problem {
        Problem(
            .deviceChangesHands,
            "the activities of the former person on `\(id)` are still being ended; the device is signed out until then",
            fix: "repeat the call as it is", headers: [.retryAfter: "1"])
    }

    private init(_ violation: ContractViolation) {
        let errors = violation.problems.map { ProblemDetails.FieldError($0, in: violation.part) }
        let first = errors.first
        let detail = first.map {
            "\($0.pointer): \($0.expected) expected, \($0.given.map { "\($0) given" } ?? "missing")"
        }
        let others = errors.count > 1 ? " (and \(errors.count - 1) more)" : ""
        self.init(
            .contractViolation, (detail ?? "it does not fit the contract") + others, pointer: first?.pointer,
            expected: first?.expected, given: first?.given, fix: first?.fix)
        self.errors = errors
    }

    private init(differing id: ActivityID, _ current: Revision) {
        self.init(
            .revisionDiffers,
            current == 0 ? "this app has no activity `\(id)`" : "the activity `\(id)` is at revision \(current)",
            expected: Conditions.tag(current),
            fix: "read the activity, and repeat the call with its current "
                + "revision in `If-Match` if the change is still right",
            headers: current == 0 ? [:] : [.eTag: Conditions.tag(current)])
        revision = Int(current)
    }

    private init(_ error: PayloadError) {
        switch error {
        case .tooLarge(let bytes, let limit, let parts):
            let largest = parts.max { $0.bytes < $1.bytes }
            let pointers = ["content-state": "/state", "attributes": "/attributes", "alert": "/alert", "data": "/data"]
            let sizes = parts.map { "\($0.name) \($0.bytes)" }.joined(separator: ", ")
            self.init(
                .payloadTooLarge,
                "the push would have \(bytes) bytes, including all dates and the alert"
                    + (sizes.isEmpty ? "" : " (\(sizes))"), pointer: largest.flatMap { pointers[$0.name] } ?? "/state",
                expected: "at most \(limit) bytes", given: "\(bytes) bytes",
                fix: "shorten the state, attributes or alert: leave out what the phone can compute or look up")
        case .missingAlertTitle:
            self = .invalid("/alert/title", "a start needs an alert with a title that is not empty", expected: "a text")
        case .missingAttributesType:
            self.init(.typeMisconfigured, "the type has no `attributesType`", fix: "mend it in the configuration")
        case .badRelevanceScore:
            self = .invalid("/relevance", "not a finite number", expected: "a finite number")
        case .dataNamesAPS:
            self = .invalid("/data/aps", "\(error)", expected: "another name")
        case .empty: self = .invalid("/alert", "\(error)", expected: "something to show")
        case .outOfRange(let field, let allowed): self = .invalid("/\(field)", "\(error)", expected: allowed)
        }
    }

    /// Creates a problem from a failure of the store. The failure's own text may name files and goes only to the log.
    init(_ error: StorageError) {
        switch error {
        case .cannotOpen, .inUse, .tokenKeys, .failed, .closed:
            self.init(
                .storageUnavailable, "the database did not answer; nothing was changed", fix: "repeat the call later",
                headers: [.retryAfter: "5"])
        case .commitUnknown:
            self.init(
                .commitUnknown, "the database failed while storing the change; the change may or may not be stored",
                fix: "repeat the call as it is: repeating is safe", headers: [.retryAfter: "1"])
        case .overloaded:
            self.init(
                .overloaded, "too many changes wait to be stored; nothing was changed", fix: "repeat the call later",
                headers: [.retryAfter: "1"])
        }
    }
}

extension ProblemDetails.FieldError {
    init(_ problem: ContractProblem, in part: Contract.Part) {
        self.init(
            pointer: part.member + problem.pointer.description, expected: problem.expected,
            given: problem.given.map(Problem.quotable), fix: problem.fix)
    }
}

extension ProblemDetails.FieldSize {
    init(_ size: FieldSize) {
        let pointer = JSONPointer.root.appending(size.name)
        self.init(pointer: size.part.member + pointer.description, bytes: size.bytes)
    }
}

extension Contract.Part {
    /// The member of the call's body for this part.
    fileprivate var member: String {
        switch self {
        case .attributes: "/attributes"
        case .contentState: "/state"
        }
    }
}
