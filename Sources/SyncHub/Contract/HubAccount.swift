package import Foundation
package import SyncCore

/// An account as a hub stores it.
package struct HubAccount: Hashable, Sendable {
  package let id: AccountID
  package let bundle: HubBundle
  /// The zones, in the order of their creation.
  package let zones: [ZoneID]

  package init(id: AccountID, bundle: HubBundle, zones: [ZoneID]) { (self.id, self.bundle, self.zones) = (id, bundle, zones) }
}

/// An account to create.
package struct NewHubAccount: Hashable, Sendable {
  package let id: AccountID
  package let bundle: HubBundle
  /// The first certificate. It distinguishes two creations of an account under one ID.
  package let certificate: HubCertificate
  package let zone: ZoneID

  package init(id: AccountID, bundle: HubBundle, certificate: HubCertificate, zone: ZoneID) {
    (self.id, self.bundle, self.certificate, self.zone) = (id, bundle, certificate, zone)
  }
}

/// The sealed keys of an account.
package struct HubBundle: Hashable, Sendable {
  /// The number of the bundle. Each replacement has the next one.
  package let generation: Int64
  package let bytes: [UInt8]

  package init(generation: Int64, bytes: [UInt8]) { (self.generation, self.bytes) = (generation, bytes) }
}

/// A signed statement about the devices of an account.
package struct HubCertificate: Hashable, Sendable {
  /// The digest of the bytes, which devices compute and check.
  package let digest: Digest
  package let bytes: [UInt8]

  package init(digest: Digest, bytes: [UInt8]) { (self.digest, self.bytes) = (digest, bytes) }
}

/// The request of a device to join an account.
package struct HubJoinRequest: Hashable, Sendable {
  /// The time in milliseconds for which a request exists.
  package static let lifetime: Int64 = 600_000

  package let id: UUID
  package let bytes: [UInt8]
  /// When the request expires, in milliseconds since 1970 by the hub's clock.
  package let expiry: Int64
  /// The answer of a device of the account.
  package let answer: [UInt8]?

  package init(id: UUID, bytes: [UInt8], expiry: Int64, answer: [UInt8]?) {
    (self.id, self.bytes, self.expiry, self.answer) = (id, bytes, expiry, answer)
  }
}
