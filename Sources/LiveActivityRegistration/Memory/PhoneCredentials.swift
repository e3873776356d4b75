/// What lets a phone speak. It is kept where no backup goes; the machine says what becomes of it, and whoever keeps it
/// does so.
package struct PhoneCredentials: Sendable, Hashable, Codable, CustomStringConvertible, CustomReflectable {
    /// What the server gave this phone, for the person who is signed in.
    package var own: String?
    /// What the server gave it for the person before: shown beside the next one's own, it proves that the phone was
    /// handed over, and does not speak by itself any more.
    package var proof: String?
    /// The person's own, which the app gave: used until there is one of the phone's.
    package var borrowed: String?
    /// Whose they are, `own` and `borrowed`: they are not written down in one step with who is signed in.
    package private(set) var person: String?

    package init() {}

    package enum Change: Sendable, Hashable {
        /// The server gave this phone one of its own for this person, which is used from now on.
        case keep(String, of: String)
        /// Another person is signed in: what was given for the one before is their proof.
        case turnIntoProof
        /// It is the one before after all of whom the server is to be told something.
        case turnIntoOwn
        /// The server has the next person: there is nothing to prove any more.
        case dropProof
        /// The server does not take it any more: the person's is used again.
        case dropOwn
        /// Nobody is spoken for any more.
        case dropAll
    }

    package mutating func apply(_ change: Change) {
        switch change {
        case .keep(let credential, let person):
            (own, proof, borrowed, self.person) = (credential, nil, nil, person)
        case .turnIntoProof: (own, proof, borrowed, person) = (nil, own ?? proof, nil, nil)
        case .turnIntoOwn: (own, proof) = (own ?? proof, nil)
        case .dropProof: proof = nil
        case .dropOwn: (own, proof) = (nil, nil)
        case .dropAll: self = PhoneCredentials()
        }
    }

    /// The app gave the person's own; nobody's, while the last one is leaving.
    package mutating func borrow(_ credential: String, of person: String?) {
        (borrowed, self.person) = (credential, person)
    }

    /// What a process that ended amid a change of person left undone, if anything.
    func changeLeft(by memory: RegistrationMemory) -> Change? {
        if memory.isLeaving { return own == nil && proof != nil ? .turnIntoOwn : nil }
        guard let user = memory.user else { return self == PhoneCredentials() ? nil : .dropAll }
        return person != user && (own ?? borrowed) != nil ? .turnIntoProof : nil
    }

    package var description: String { "PhoneCredentials" }
    /// No parts, so that `dump` shows none of them.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
