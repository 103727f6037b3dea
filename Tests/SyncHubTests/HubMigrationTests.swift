import Foundation
import SQLCipherConnection
import StoreFiles
import StoreKeys
import SyncCore
import XCTest
import _TestSupport

@testable import SyncHub

/// Hubs that an earlier library has created.
final class HubMigrationTests: XCTestCase {
  /// The tables of format 1 that differ.
  private static let former = """
    DROP INDEX record_deleted;
    DROP TABLE acknowledgment;
    DROP TABLE chunk;
    DROP TABLE chunk_bytes;
    DROP TABLE chunk_reference;
    CREATE TABLE former_zone (
      number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, account BLOB NOT NULL, sequence INTEGER NOT NULL, head BLOB NOT NULL,
      records INTEGER NOT NULL, deleted INTEGER NOT NULL, bytes INTEGER NOT NULL);
    INSERT INTO former_zone SELECT number, id, account, sequence, head, records, deleted, bytes FROM zone;
    DROP TABLE zone;
    ALTER TABLE former_zone RENAME TO zone;
    CREATE TABLE former_log (
      zone INTEGER NOT NULL, sequence INTEGER NOT NULL, device INTEGER NOT NULL, device_sequence INTEGER NOT NULL,
      digest BLOB NOT NULL, signature BLOB NOT NULL, head BLOB NOT NULL, PRIMARY KEY (zone, sequence)) WITHOUT ROWID;
    INSERT INTO former_log SELECT zone, sequence, device, device_sequence, digest, signature, head FROM commit_log;
    DROP TABLE commit_log;
    ALTER TABLE former_log RENAME TO commit_log;
    UPDATE hub_metadata SET format = 1;
    """

  func testAHubOfFormat1IsBroughtToThePresentFormat() async throws {
    let file = try TestHub()
    let hub = try await file.create()
    var device = try await file.device(1, hub)
    try await hub.push([1, 2, 3], from: &device, zone: file.zone)
    let before = try await hub.identity()
    try await hub.write { try $0.execute(Self.former) }
    await hub.close()

    let opened = file.connect()
    let identity = try await opened.identity()
    XCTAssertEqual(identity.identifier, before.identifier)
    XCTAssertEqual(identity.format, HubSchema.format)
    let pages = try await opened.pullAll(TestDevice(2, incarnation: nil).pullRequest(), zone: file.zone)
    XCTAssertEqual(pages.flatMap(\.records).count, 3)
    XCTAssertNil(pages.last?.sum, "It is computed by the next commit.")
    try await opened.push([4], from: &device, zone: file.zone)
    let after = try await opened.pullAll(TestDevice(2, incarnation: nil).pullRequest(), zone: file.zone)
    XCTAssertEqual(after.last?.sum?.count, 4)
    let findings = try await opened.verify()
    XCTAssertEqual(findings, [])
    await opened.close()
    let again = try await file.connect().identity()
    XCTAssertEqual(again, identity)
  }
}
