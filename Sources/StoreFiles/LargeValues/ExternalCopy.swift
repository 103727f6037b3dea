import Foundation
import StoreKeys

/// Copies the files of large values with a copy of their store.
package enum ExternalCopy {
  /// Copies the files of values to another store's folder, and makes them durable.
  ///
  /// Files are encrypted again if the key differs. Other files in the target folder are removed by its next sweep. The caller holds the
  /// source's lock.
  package static func copy(
    _ ids: [Int64], from source: ExternalFolder, to target: ExternalFolder, lock: ExternalFolder.Lock? = nil,
    progress: ProgressHandler? = nil
  ) throws {
    if ids.isEmpty { return }
    let lock = try lock ?? target.lockForWriting()
    defer { withExtendedLifetime(lock) {} }
    target.requestSweep()
    do {
      for (number, id) in ids.enumerated() {
        try copyFile(id, from: source, to: target)
        if let progress, !progress(number + 1, ids.count) { throw StoreAccessError(.cancelled, path: target.path, operation: .copy) }
      }
      try target.sync()
    } catch {
      target.removeFiles(ids)
      throw error
    }
  }

  private static func copyFile(_ id: Int64, from source: ExternalFolder, to target: ExternalFolder) throws {
    let reader = try source.openFile(id: id)
    let writer = try target.makeFile(id: id)
    while let chunk = try reader.next() {
      try chunk.withUnsafeBytes { bytes in try writer.write(bytes) }
    }
    _ = try writer.finish()
  }
}
