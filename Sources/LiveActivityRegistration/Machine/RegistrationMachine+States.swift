internal import JSONText
internal import LiveActivityAPI

// What the machine is in the middle of: each has one state at a time. Moments are milliseconds of the steady clock.
extension RegistrationMachine {
    /// A card that is to be started by the app.
    struct Order: Sendable {
        enum Stage: Sendable, Hashable {
            /// The server has not heard of it. It is started without at this moment, or given up where it is a wish.
            case asked(until: Int)
            /// The word to the server has left, and its answer is waited for as long.
            case announced(until: Int)
            /// The card is being made.
            case starting
            /// iOS makes no card while the app is not on the screen: when it is back the order begins anew, if that is
            /// before this moment.
            case postponed(until: Int)
        }

        let number: Int
        let card: CardOrder
        /// The server asked for it, not the app.
        let isWish: Bool
        var stage: Stage
        /// The server may have heard of it, and waits for the card.
        var isAnnounced = false

        var deadline: Int? {
            switch stage {
            case .asked(let until), .announced(let until): until
            case .starting, .postponed: nil
            }
        }

        var isPostponed: Bool { if case .postponed = stage { true } else { false } }
        /// Its card may be made any moment, or is being made.
        var isUnderWay: Bool { !isPostponed }

        var isUnheard: Bool { if case .asked = stage { true } else { false } }

        /// The word to the server leaves.
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
            /// The card of an order that the server has heard of was not made.
            case withdrawal(order: Int)
            case inventory([String: Int])
            case card(String, version: Int)
        }

        let number: Int
        let purpose: Purpose
        let epoch: Int
        let round: Int
        let sentAt: Int
        /// The contents of the cards when it left: an answer does not overrule what came meanwhile.
        let contents: [String: JSONObject?]
        /// It went with the phone's own credential.
        let usesCredential: Bool
    }

    /// The way to the server, which has room for one call at a time.
    enum Line: Sendable {
        /// The next call may leave.
        case free
        /// None leaves before: the one before failed.
        case pausing(until: Int)
        case busy(InFlight)

        var call: InFlight? { if case .busy(let call) = self { call } else { nil } }

        /// The pause ends: the next call goes at once.
        mutating func endPause() { if case .pausing = self { self = .free } }
    }

    /// The credential that the server has given this phone.
    enum Credential: Sendable, Hashable {
        case none
        /// The one of the person before, which proves that the phone was handed over.
        case proof(isUntried: Bool)
        /// One of its own that the server has not refused.
        ///
        /// - Parameter isUntried: This process was given it, and no call was taken with it yet.
        case own(isUntried: Bool)

        var isOwn: Bool { if case .own = self { true } else { false } }
        var isProof: Bool { if case .proof = self { true } else { false } }
    }
}
