import SyncCore
import SyncCrypto

/// The names of the records that cannot be opened. Names are keyed hashes, from which the records do not follow.
struct UnreadableNames {
  private let names: Set<RecordName>
  private let sealing: ZoneSealing?

  /// The number of records among which those with the names are searched.
  private static let searchedRecords = 100_000
  private static let batch = 1_000

  /// Reads the names from a store.
  init(_ replica: StoreReplica) throws {
    var names: Set<RecordName> = []
    var last: RecordName?
    while true {
      let records = try replica.quarantined(after: last, maximumCount: Self.batch)
      guard let final = records.last else { break }
      names.formUnion(records.lazy.map(\.name))
      last = final.name
    }
    self.names = names
    sealing = names.isEmpty ? nil : try replica.zoneSealing()
  }

  /// Uses some names.
  init(_ names: Set<RecordName>, _ sealing: ZoneSealing) { (self.names, self.sealing) = (names, sealing) }

  var count: Int { names.count }

  /// Returns whether a record has one of the names.
  func contains(_ id: RecordID) throws -> Bool {
    guard let sealing else { return false }
    return try names.contains(sealing.name(of: id))
  }

  /// Returns the records with the names, as far as the store has them.
  func records(in replica: StoreReplica) throws -> [RecordID] {
    guard let sealing else { return [] }
    var (found, searched): ([RecordID], Int) = ([], 0)
    var last: RecordID?
    while found.count < names.count, searched < Self.searchedRecords {
      let records = try replica.records(after: last, maximumCount: Self.batch)
      guard let final = records.last else { break }
      found += try records.filter { try names.contains(sealing.name(of: $0)) }
      last = final
      searched += records.count
    }
    return found
  }
}

extension StoreReplica {
  /// Returns what opens the records of the zone.
  func zoneSealing() throws -> ZoneSealing {
    let (state, account) = (try knownState(), try accountState())
    return try ZoneSealing(account.openBundle().keys(of: state.zoneID), signedBy: account.deviceKeys.signing)
  }
}
