package import Foundation
package import SQLCipherConnection
package import SyncCore

/// The accounts of a hub's file, in an open transaction of a connection.
package struct HubAccountTables {
  private let connection: Connection

  package init(_ connection: Connection) { self.connection = connection }

  package func create(_ account: NewHubAccount) throws {
    if try bundle(of: account.id) != nil {
      let first = try certificates(of: account.id).first
      guard first == account.certificate, try zones(of: account.id).first == account.zone else {
        throw HubError(.accountExists, "Another account of the hub \(connection.path) has the ID.")
      }
      return
    }
    if try connection.hasRow(.zone, account.zone) {
      throw HubError(.zoneExists, "Another account of the hub \(connection.path) has the zone.")
    }
    try connection.run(.newAccount, account.id, account.bundle.generation, account.bundle.bytes)
    try insert(account.certificate, number: 0, into: account.id)
    try connection.run(.newZone, account.zone, account.id, Digest.zero)
  }

  /// Returns the IDs of all accounts.
  package func accounts() throws -> [AccountID] { try connection.all(.accounts) { try $0.accountID(0) } }

  package func account(_ id: AccountID) throws -> HubAccount {
    guard let bundle = try bundle(of: id) else { throw unknownAccount }
    return HubAccount(id: id, bundle: bundle, zones: try zones(of: id))
  }

  package func replaceBundle(of account: AccountID, with bundle: HubBundle) throws {
    guard let current = try self.bundle(of: account) else { throw unknownAccount }
    if current == bundle { return }
    guard bundle.generation == current.generation &+ 1 else {
      throw HubError(
        .generationConflict,
        "The account's bundle has generation \(current.generation), and cannot be replaced by generation \(bundle.generation).")
    }
    try connection.run(.setBundle, bundle.generation, bundle.bytes, account)
  }

  package func certificates(of account: AccountID) throws -> [HubCertificate] {
    let certificates = try connection.all(.certificates, account) { HubCertificate(digest: try $0.digest(0), bytes: $0.bytes(1)) }
    // Each account has one.
    if certificates.isEmpty { throw unknownAccount }
    return certificates
  }

  package func append(_ certificate: HubCertificate, after previous: Digest, to account: AccountID, at time: Int64) throws {
    // Requests of devices that have ended before they could remove them.
    try connection.run(.removeExpiredRequests, time)
    let chain = try certificates(of: account)
    if let index = chain.firstIndex(of: certificate), index > 0, chain[index - 1].digest == previous { return }
    guard chain.last?.digest == previous else {
      throw HubError(.certificateConflict, "The account has another certificate after the known one.")
    }
    try insert(certificate, number: chain.count, into: account)
  }

  private func insert(_ certificate: HubCertificate, number: Int, into account: AccountID) throws {
    try connection.run(.newCertificate, account, number, certificate.digest, certificate.bytes)
  }

  private func bundle(of account: AccountID) throws -> HubBundle? {
    try connection.first(.account, account) { HubBundle(generation: $0.int64(0), bytes: $0.bytes(1)) }
  }

  private func zones(of account: AccountID) throws -> [ZoneID] {
    try connection.all(.zonesOfAccount, account) { try $0.zoneID(0) }
  }

  private var unknownAccount: HubError { HubError(.unknownAccount, "The hub \(connection.path) does not have the account.") }

  // MARK: Join requests

  /// - Returns: When the request expires.
  package func post(_ id: UUID, _ bytes: [UInt8], to account: AccountID, at time: Int64) throws -> Int64 {
    guard try bundle(of: account) != nil else { throw unknownAccount }
    try connection.run(.removeExpiredRequests, time)
    if let known = try request(id, of: account, at: time) {
      guard known.bytes == bytes else { throw HubError(.joinRequestConflict, "Another request to join has the ID.") }
      return known.expiry
    }
    let expiry = time + HubJoinRequest.lifetime
    try connection.run(.newJoinRequest, account, id, expiry, bytes)
    return expiry
  }

  package func requests(of account: AccountID, at time: Int64) throws -> [HubJoinRequest] {
    guard try bundle(of: account) != nil else { throw unknownAccount }
    return try connection.all(.joinRequests, account, time) { try HubJoinRequest(row: $0) }
  }

  package func answer(_ id: UUID, with answer: [UInt8], of account: AccountID, at time: Int64) throws {
    guard try bundle(of: account) != nil else { throw unknownAccount }
    try connection.run(.removeExpiredRequests, time)
    guard let known = try request(id, of: account, at: time) else {
      throw HubError(.unknownJoinRequest, "The request to join has expired or was removed.")
    }
    if let former = known.answer {
      guard former == answer else { throw HubError(.joinRequestConflict, "The request to join has another answer.") }
      return
    }
    try connection.run(.answer, answer, account, id)
  }

  package func remove(_ id: UUID, of account: AccountID) throws {
    guard try bundle(of: account) != nil else { throw unknownAccount }
    try connection.run(.removeJoinRequest, account, id)
  }

  private func request(_ id: UUID, of account: AccountID, at time: Int64) throws -> HubJoinRequest? {
    try connection.first(.joinRequest, account, id, time) { try HubJoinRequest(row: $0) }
  }
}

extension HubJoinRequest {
  fileprivate init(row: Statement) throws {
    self.init(id: try row.uuid(0), bytes: row.bytes(2), expiry: row.int64(1), answer: row.isNull(3) ? nil : row.bytes(3))
  }
}
