import SyncCore

extension Simulation {
  /// What does not change while a simulation is shortened.
  package struct Setup: Hashable, Sendable, CustomStringConvertible {
    package var seed: UInt64
    package var deviceCount: Int
    package var loss: Double
    /// Whether devices lack keys for a time. Meanwhile, parts of saves are not visible.
    package var losesKeys: Bool
    /// Whether commits often get lost, and pulls do not: what was saved waits for a long time.
    var losesCommits: Bool { seed % 5 == 0 }
    /// Whether many saves of different devices have the same time.
    var hasCoarseClocks: Bool { (seed >> 8) % 4 == 0 }
    /// Whether devices have earlier versions of the model for a time.
    var hasEarlierModels: Bool { (seed >> 16) % (hasRules || hasDeletionMarks ? 2 : 5) == 0 }
    /// Whether there are few objects, which devices often refer to by the same one-to-one relationships.
    var hasManyClaims: Bool { (seed >> 24) % 3 == 0 }
    /// Whether there are many-to-many relationships.
    var hasLinks: Bool { (seed >> 40) % (hasManyClaims ? 6 : 2) == 0 }
    /// Whether there are few objects, and devices often add and remove links between the same ones.
    var hasManyLinks: Bool { hasLinks && !hasManyClaims && (seed >> 40) % 4 == 0 }
    /// Whether attributes have rules by which they are merged.
    var hasRules: Bool { (seed >> 52) % 2 == 0 }
    /// Whether functions of the application merge attributes.
    var hasFunctions: Bool { hasRules && (seed >> 56) % 2 == 0 }
    /// Whether one-to-one relationships are their own inverses.
    var hasMutual: Bool { (seed >> 28) % 3 == 0 }
    /// Whether there are few objects, whose attributes devices often change.
    var hasManyMerges: Bool { ((seed >> 52) % 4 == 0 || hasFunctions) && !hasManyClaims && !hasManyLinks }
    /// Whether edits win over deletions, and objects deny deletions.
    var hasDeletionMarks: Bool { (seed >> 12) % 3 == 0 }
    /// Whether there are few objects, which devices often delete and insert again.
    var hasManyDeletions: Bool { (seed >> 12) % 6 == 0 && !hasManyClaims && !hasManyLinks && !hasManyMerges }
    /// Whether relationships are ordered.
    var hasLists: Bool { (seed >> 48) % 5 < 2 }
    /// Whether attributes have large values.
    var hasAssets: Bool { (seed >> 20) % 4 == 0 }
    /// Whether there are uniqueness constraints.
    var hasUniqueValues: Bool { (seed >> 36) % 2 == 0 }
    /// Whether objects are rarely inserted when there are some.
    var hasFewObjects: Bool { hasManyClaims || hasManyLinks || hasManyMerges || hasManyDeletions || truncates }
    /// Whether the hub soon removes deleted records, and devices are away for a long time.
    var truncates: Bool { (seed >> 44) % 5 < 2 }
    /// Whether it is certain which values must be in a journal, if nothing is restored. Deletions that edits win over can write all values
    /// again.
    var hasCertainJournals: Bool { !losesKeys && !hasEarlierModels && !hasDeletionMarks }
    /// Whether the hub is a file that each device opens itself, so that its clock is that of the device.
    var hasClockOfDevices: Bool { (seed >> 32) % 6 == 0 }

    package init(seed: UInt64, deviceCount: Int, loss: Double, losesKeys: Bool = false) {
      (self.seed, self.deviceCount, self.loss, self.losesKeys) = (seed, deviceCount, loss, losesKeys)
    }
    package var description: String {
      "Simulation.Setup(seed: \(seed), deviceCount: \(deviceCount), loss: \(loss), losesKeys: \(losesKeys))"
    }
  }
}

extension Simulation {
  /// Gives the checks access to the hub and the devices.
  func prepareChecks() {
    checks.removesDeletions = setup.truncates
    checks.isRemoved = { [storage, hashing] in storage.removed[hashing.name(of: $0)] != nil }
    checks.hasReturned = { [storage, hashing] in storage.returned.contains(hashing.name(of: $0)) }
    checks.isDeleted = { [storage, hashing] id in
      let name = hashing.name(of: id)
      return storage.state.records[name]?.isDeleted ?? false
    }
    checks.wasMerged = { [devices] id in devices.contains { $0.store.successors[id] != nil } }
  }
}
