import APNSModel
import APNSSimulator

extension APNSSimulator {
    /// The simulator's `ProviderKey`, for files in which the client's is visible too.
    typealias ProviderKeyAlias = SimulatorProviderKey
}

typealias SimulatorProviderKey = ProviderKey
