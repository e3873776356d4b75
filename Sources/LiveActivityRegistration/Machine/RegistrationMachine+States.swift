internal import JSONText
internal import LiveActivityAPI

// States of the machine's orders, of its call under way and of its credential. Moments are milliseconds of the steady
// clock.
extension RegistrationMachine {
    /// An order for a card that the app starts.
    struct Order: Sendable {
        enum Stage: Sendable, Hashable {
            /// The server does not know of the order. At this moment the card is started without the server. If the
            /// order is a wish, it is dropped.
            case asked(until: Int)
            /// The announcement was sent, and its answer is waited for until this moment.
            case announced(until: Int)
            /// iOS is asked for the card.
            case starting
            /// iOS makes no card while the app is off the screen. If the app is back before this moment, the order
            /// begins anew.
            case postponed(until: Int)
        }

        let number: Int
        var card: CardOrder
        /// `true` if the server asked for the card, not the app.
        let isWish: Bool
        var stage: Stage
        /// The broadcast channel that the server named for the card in its last answer, or `nil` for none.
        var namedChannel: String?
        /// `true` if the server may know of the order and wait for the card.
        var isAnnounced = false

        var deadline: Int? {
            switch stage {
            case .asked(let until), .announced(let until): until
            case .starting, .postponed: nil
            }
        }

        var isPostponed: Bool { if case .postponed = stage { true } else { false } }
        /// `true` if the card may be made any moment or is being made.
        var isUnderWay: Bool { !isPostponed }

        var isUnheard: Bool { if case .asked = stage { true } else { false } }

        /// Notes that the announcement is sent.
        mutating func announce() {
            guard let deadline else { return }
            stage = .announced(until: deadline)
            isAnnounced = true
        }
    }

    /// A call under way.
    struct InFlight: Sendable {
        /// The subject of a call.
        enum Purpose: Sendable {
            case signOut
            case device(DeviceRequest)
            case startToken(type: String, TokenText)
            case announcement(order: Int)
            /// The server knows of the order, and its card was not made.
            case withdrawal(order: Int)
            case inventory([String: Int])
            case card(String, version: Int)
        }

        let number: Int
        let purpose: Purpose
        let epoch: Int
        let round: Int
        let sentAt: Int
        /// The contents of the cards when the call left. An answer does not overrule later changes.
        let contents: [String: JSONObject?]
        /// `true` if the call used the phone's own credential.
        let usesCredential: Bool
    }

    /// The state of the connection to the server, which has room for one call at a time.
    enum Line: Sendable {
        /// The next call may leave.
        case free
        /// No call leaves before this moment, because the last one failed.
        case pausing(until: Int)
        case busy(InFlight)

        var call: InFlight? { if case .busy(let call) = self { call } else { nil } }

        /// Ends the pause, so that the next call leaves at once.
        mutating func endPause() { if case .pausing = self { self = .free } }
    }

    /// The credential that the server has given this phone.
    enum Credential: Sendable, Hashable {
        case none
        /// The previous person's credential, which proves that the phone was handed over.
        case proof(isUntried: Bool)
        /// A credential of the phone's own that the server has not refused.
        ///
        /// - Parameter isUntried: `true` if this process received it and no call with it was accepted yet.
        case own(isUntried: Bool)

        var isOwn: Bool { if case .own = self { true } else { false } }
        var isProof: Bool { if case .proof = self { true } else { false } }
    }
}
