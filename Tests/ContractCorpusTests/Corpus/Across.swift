// swift-format-ignore-file

import Foundation

// Types whose parts are in several files.

enum AcrossFiles {
    enum Kind: String, Codable { case near, far }
}

extension AcrossFiles.Item {
    struct Other: Codable, Hashable {
        var at: Date?
    }
}

struct AcrossAttributes: ActivityAttributes {
    typealias ContentState = AcrossFiles.State
    var item: AcrossFiles.Item
}
