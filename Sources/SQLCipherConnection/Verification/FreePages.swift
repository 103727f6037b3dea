import CSQLCipher
import Foundation
import StoreFiles
import StoreKeys

/// Finds the unused pages of a database without SQLite, by walking the freelist. Zeros are valid in an unused page, which may never have
/// been written.
///
/// The trunks of the list are pages with content, which must be authentic; its leaves have none.
enum FreePages {
  /// Unused pages, with the database state that they belong to.
  struct Admitted {
    let pages: AdmittedPages
    fileprivate let version: String?

    /// Throws if the snapshot has a different state than the walk.
    func checkIsCurrent(_ connection: Connection) throws(StoreAccessError) {
      guard try connection.pragma("data_version") == version else {
        throw StoreAccessError(.busy, path: connection.path, operation: .copy, circumstance: .committedMeanwhile)
      }
    }
  }

  /// The maximum number of walks while others commit.
  private static let attempts = 20

  /// Runs `body`, which begins a snapshot, with the unused pages. Repeats it if another connection committed in the meantime.
  static func withAdmitted<Result>(
    of connection: Connection, key: DatabaseKey, _ body: (Admitted) throws -> Result
  ) throws -> Result {
    let cipher = try PageCipher(key: key)
    var lastError: (any Error)?
    for _ in 0..<attempts {
      let version = try connection.pragma("data_version")
      let leaves = try leaves(path: connection.path, key: key)
      let pages = AdmittedPages(leaves) { (number, page) throws(StoreAccessError) in try cipher.sealZeros(into: page, number: number) }
      do {
        return try body(Admitted(pages: pages, version: version))
      } catch let error as StoreAccessError where error.kind == .busy {
        lastError = error
      }
    }
    throw lastError ?? StoreAccessError(.busy, path: connection.path, operation: .copy)
  }

  /// Returns the leaves of the freelist in the newest committed state.
  static func leaves(path: String, key: DatabaseKey) throws -> Set<UInt32> {
    let reader = try PageReader(path: path, key: key)
    let first = try reader.page(1)
    var trunk = number(first, 32)
    var trunks: Set<UInt32> = []
    var leaves: Set<UInt32> = []
    let capacity = (key.format.pageSize - key.format.reservedBytes) / 4 - 2
    while trunk != 0 {
      guard trunks.insert(trunk).inserted else { throw reader.damaged }
      let page = try reader.page(trunk)
      let count = Int(number(page, 4))
      guard count <= capacity else { throw reader.damaged }
      for index in 0..<count { leaves.insert(number(page, 8 + 4 * index)) }
      trunk = number(page, 0)
    }
    // Trunks have content.
    return leaves.subtracting(trunks).subtracting([0, 1])
  }

  private static func number(_ page: [UInt8], _ offset: Int) -> UInt32 {
    page[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// Reads pages of the newest committed state: from the log if it has them, otherwise from the file.
  struct PageReader {
    let path: String
    let file: BareDatabaseFile
    let cipher: PageCipher
    let pageSize: Int
    let logged: [UInt32: Int]

    init(path: String, key: DatabaseKey) throws {
      self.path = path
      file = try BareDatabaseFile(path)
      cipher = try PageCipher(key: key)
      pageSize = key.format.pageSize
      logged = try WriteAheadLog.newestPages(path + "-wal", pageSize: pageSize)
    }

    var damaged: StoreAccessError { StoreAccessError(.storeCorrupt(.structure), path: path, operation: .readUnusedPages) }

    func page(_ number: UInt32) throws -> [UInt8] {
      guard number > 0 else { throw damaged }
      var bytes = [UInt8](repeating: 0, count: pageSize)
      let isOpen = try bytes.withUnsafeMutableBytes { page in
        // Another process may be writing the page.
        for attempt in 0..<3 {
          if attempt > 0 { usleep(2_000) }
          if let offset = logged[number] {
            if try WriteAheadLog.read(path + "-wal", into: page, offset: offset), try cipher.open(page, number: number) { return true }
          }
          try file.read(into: page, offset: Int64(number - 1) * Int64(pageSize))
          if try cipher.open(page, number: number) { return true }
        }
        return false
      }
      guard isOpen else { throw StoreAccessError(.storeCorrupt(.pageMAC), path: path, operation: .readUnusedPages) }
      return bytes
    }
  }
}
