package import Foundation
package import SyncCore

/// A connection to a hub: all that a client needs of it, whether the hub is a file or a server.
///
/// All calls can be repeated: a repeated call has the result of the first. They throw ``HubError``, and can be tried again later on the same
/// connection. A canceled call throws ``HubError/Code/canceled``; a canceled push may have been accepted.
///
/// What devices have sealed or signed is opaque to the hub.
package protocol HubConnection: Sendable {
  /// The identity of the hub.
  func identity() async throws -> HubIdentity

  // MARK: Commits

  /// Returns a page of the records that commits after a point have written.
  func pull(_ request: PullRequest, zone: ZoneID) async throws -> PullAnswer
  /// Adds a commit to a zone. An accepted commit is durable.
  func push(_ commit: SealedCommit, zone: ZoneID) async throws -> PushAnswer
  /// Returns those of some chunks of large values that the hub does not have.
  func missingChunks(_ ids: [ChunkID], zone: ZoneID) async throws -> [ChunkID]
  /// Stores a chunk, durably. If no commit names it within a week, the hub can remove it.
  ///
  /// - Throws: `wrongChunk` if the bytes are not those of the chunk.
  func putChunk(_ id: ChunkID, _ bytes: [UInt8], zone: ZoneID) async throws
  /// Returns a chunk, or nil if the hub does not have it.
  func chunk(_ id: ChunkID, zone: ZoneID) async throws -> [UInt8]?
  /// Returns what a device compares with its records.
  func verify(_ request: VerificationRequest, zone: ZoneID) async throws -> VerificationAnswer
  /// Watches a zone for commits.
  func watch(zone: ZoneID) async throws -> HubWatch

  // MARK: Accounts

  /// Returns the IDs of the accounts that the hub shows to this device: all accounts of a hub in a file.
  func accounts() async throws -> [AccountID]
  /// Creates an account with its first zone. A repeated call has no effect, also if the account has changed since.
  ///
  /// - Throws: `accountExists` if another account has the ID; `zoneExists` if another account has the zone.
  func createAccount(_ account: NewHubAccount) async throws
  /// Returns an account.
  func account(_ id: AccountID) async throws -> HubAccount
  /// Replaces the sealed bundle of an account.
  ///
  /// - Parameter bundle: The new bundle, whose generation is 1 more than the current one.
  /// - Throws: `generationConflict` if another bundle has the generation or a later one: fetch the account and try again.
  func replaceBundle(of account: AccountID, with bundle: HubBundle) async throws
  /// Returns the certificates of an account, in the order of their chain.
  func certificates(of account: AccountID) async throws -> [HubCertificate]
  /// Appends a certificate to the chain of an account.
  ///
  /// - Parameter previous: The digest of the last certificate that the device knows.
  /// - Throws: `certificateConflict` if another certificate follows it: fetch the certificates and try again.
  func appendCertificate(_ certificate: HubCertificate, after previous: Digest, to account: AccountID) async throws

  // MARK: Join requests

  /// Posts the request of a device to join an account.
  ///
  /// - Returns: When the request expires, in milliseconds since 1970 by the hub's clock. Repeating the call does not extend the time.
  @discardableResult
  func postJoinRequest(_ id: UUID, _ body: [UInt8], to account: AccountID) async throws -> Int64
  /// Returns the requests to join an account that have not expired.
  func joinRequests(of account: AccountID) async throws -> [HubJoinRequest]
  /// Answers a request. The answer is stored as long as the request.
  ///
  /// - Throws: `unknownJoinRequest` if it has expired or was removed; `joinRequestConflict` if another answer exists.
  func answerJoinRequest(_ id: UUID, with answer: [UInt8], of account: AccountID) async throws
  /// Removes a request with its answer, if it exists.
  func removeJoinRequest(_ id: UUID, of account: AccountID) async throws
}

/// The identity of a hub. A hub that was restored from a backup keeps it; its zones then have another ``Incarnation``.
package struct HubIdentity: Hashable, Sendable {
  package let identifier: UUID
  /// The version of the hub's format.
  package let format: Int

  package init(identifier: UUID, format: Int) { (self.identifier, self.format) = (identifier, format) }
}
