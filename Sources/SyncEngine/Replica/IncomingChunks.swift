import Foundation
import ObjectStore
import SQLCipherStore
import SyncCore
import SyncCrypto

/// The sealed chunks of large values that are being downloaded, in a folder next to the store: after an interruption, the download continues
/// with the next chunk.
///
/// What is read is compared with the name of the chunk, so that a file that was not written completely counts as missing.
struct IncomingChunks: Sendable {
  private let path: String

  init(path: String) { self.path = path }

  private func url(_ id: ChunkID) -> URL {
    URL(fileURLWithPath: path + "/" + id.digest.allBytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
  }

  /// Returns a chunk, or nil if it is missing or damaged.
  func chunk(_ id: ChunkID) throws -> [UInt8]? {
    guard let data = try? Data(contentsOf: url(id)) else { return nil }
    let bytes = [UInt8](data)
    return try AssetCipher.id(of: bytes) == id ? bytes : nil
  }

  /// Whether there are any.
  var exists: Bool { FileManager.default.fileExists(atPath: path) }

  func contains(_ id: ChunkID) -> Bool { FileManager.default.fileExists(atPath: url(id).path) }

  func store(_ bytes: [UInt8], as id: ChunkID) throws {
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try Data(bytes).write(to: url(id), options: .atomic)
  }

  func remove(_ ids: some Sequence<ChunkID>) { for id in ids { try? FileManager.default.removeItem(at: url(id)) } }

  /// Removes all chunks except for some.
  func removeAll(except kept: Set<ChunkID> = []) {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else { return }
    let kept = Set(kept.map { url($0).lastPathComponent })
    for name in names where !kept.contains(name) { try? FileManager.default.removeItem(atPath: path + "/" + name) }
    if kept.isEmpty { try? FileManager.default.removeItem(atPath: path) }
  }
}

extension StoreReplica {
  /// The chunks that are being downloaded; nil if the store is closed.
  var incomingChunks: IncomingChunks? {
    (try? (store.incrementalStore as? SQLCipherIncrementalStore)?.incomingFolderPath).map { IncomingChunks(path: $0) }
  }
}
