package import Foundation
package import SyncCore

extension EmbeddedHub {
  package func createAccount(_ account: NewHubAccount) async throws {
    try await write { try HubAccountTables($0).create(account) }
  }

  package func accounts() async throws -> [AccountID] { try await read { try HubAccountTables($0).accounts() } }

  package func account(_ id: AccountID) async throws -> HubAccount { try await read { try HubAccountTables($0).account(id) } }

  package func replaceBundle(of account: AccountID, with bundle: HubBundle) async throws {
    try await write { try HubAccountTables($0).replaceBundle(of: account, with: bundle) }
  }

  package func certificates(of account: AccountID) async throws -> [HubCertificate] {
    try await read { try HubAccountTables($0).certificates(of: account) }
  }

  package func appendCertificate(_ certificate: HubCertificate, after previous: Digest, to account: AccountID) async throws {
    try await write { [time] in try HubAccountTables($0).append(certificate, after: previous, to: account, at: time) }
  }

  // MARK: Join requests

  @discardableResult
  package func postJoinRequest(_ id: UUID, _ body: [UInt8], to account: AccountID) async throws -> Int64 {
    try await write { [time] in try HubAccountTables($0).post(id, body, to: account, at: time) }
  }

  package func joinRequests(of account: AccountID) async throws -> [HubJoinRequest] {
    try await read { [time] in try HubAccountTables($0).requests(of: account, at: time) }
  }

  package func answerJoinRequest(_ id: UUID, with answer: [UInt8], of account: AccountID) async throws {
    try await write { [time] in try HubAccountTables($0).answer(id, with: answer, of: account, at: time) }
  }

  package func removeJoinRequest(_ id: UUID, of account: AccountID) async throws {
    try await write { try HubAccountTables($0).remove(id, of: account) }
  }
}
