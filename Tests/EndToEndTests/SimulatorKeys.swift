import APNSModel
import APNSSimulator

extension APNSSimulator {
    /// The simulator's `ProviderKey`, where the client's is in sight too.
    typealias ProviderKeyAlias = SimulatorProviderKey
}

typealias SimulatorProviderKey = ProviderKey
