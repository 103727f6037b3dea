import CSQLCipher
import Foundation
package import StoreFiles
package import StoreKeys

/// The thoroughness of a verification.
package enum VerificationLevel: Sendable {
  /// SQLite's quick check and the foreign keys.
  case quick
  /// The authentication code of every page in the file and the log, SQLite's full integrity check, and the foreign keys.
  case full
}

/// A problem that a verification found.
package enum VerificationFinding: Sendable, Hashable, CustomStringConvertible {
  /// A page of the file was not written with the store's key.
  case page(Int)
  /// The salt in the first bytes of the file is not the key's. A store with a key file does not need it, and SQLCipher's authentication
  /// codes do not cover it.
  case salt
  /// A page in the write-ahead log was not written with the store's key.
  case logFrame(index: Int, page: Int)
  /// The file's size is not a multiple of the page size; the value is the number of bytes after the last whole page.
  case partialPage(bytes: Int)
  /// The file has fewer pages than its header states.
  case missingPages(expected: Int, found: Int)
  /// The file has whole pages after the last one that belongs to the database.
  case surplusPages(Int)
  /// SQLite cannot read the store, or stopped reading.
  case unreadable(String)
  /// A message of SQLite's check: names of tables and indexes and page numbers, but no values.
  case structure(String)
  /// A row refers to a row that does not exist.
  case foreignKey(table: String, row: Int64, parent: String)

  /// Returns whether the finding is a message of SQLite's check about an index or a table.
  package func isAbout(index: String) -> Bool { if case .structure(let line) = self { line.hasSuffix(" index \(index)") } else { false } }
  package func isAbout(table: String) -> Bool {
    if case .structure(let line) = self { line.hasSuffix(" table main.\(table)") } else { false }
  }

  package var description: String {
    switch self {
    case .page(let number): "page \(number) fails its authentication"
    case .salt: "the salt at the beginning of the file is not the one of the key"
    case .logFrame(let index, let page): "frame \(index) of the write-ahead log (page \(page)) fails its authentication"
    case .partialPage(let bytes): "\(bytes) bytes stand behind the last whole page"
    case .missingPages(let expected, let found): "the file has \(found) of \(expected) pages"
    case .surplusPages(let count): "\(count) pages stand behind the end of the database"
    case .unreadable(let what): "unreadable: \(what)"
    case .structure(let line): line
    case .foreignKey(let table, let row, let parent): "row \(row) of \(table) refers to a row of \(parent) that does not exist"
    }
  }
}

/// Verifies a store, which may be in use: the authentication code of every page, SQLite's own checks, and foreign keys. It repairs nothing.
package struct StoreVerification {
  private let path: String
  private let key: DatabaseKey
  /// The page check and SQLite's check report separate parts of the total progress.
  private let pagesProgress: ProgressHandler?
  private let structureProgress: ProgressHandler?
  private var findings: [VerificationFinding] = []

  /// Verifies a store, and returns all findings. An empty result means that nothing is wrong.
  ///
  /// Throws only if the verification itself fails: no such file, no permission, busy, canceled.
  ///
  /// - Parameters:
  ///   - onOpen: Registers what the schema needs, such as collations.
  package static func run(
    path: String, key: DatabaseKey, level: VerificationLevel, options: ConnectionOptions = ConnectionOptions(),
    onOpen: (Connection) throws -> Void = { _ in }, progress: ProgressHandler? = nil
  ) throws -> [VerificationFinding] {
    var verification = StoreVerification(path: try StoreFile.absolutePath(path), key: key, level, progress)
    var connection: Connection?
    do {
      let opened =
        try options.isReadOnly
        ? Connection.reading(path, key: key, options: options) : Connection(opening: path, key: key, options: options)
      try onOpen(opened)
      connection = opened
    } catch let error as StoreAccessError {
      try verification.record(error)
    }
    defer { connection?.close() }
    if level == .full { try verification.checkPages(connection) }
    if let connection {
      // Ending the page snapshot failed because memory is exhausted.
      guard connection.isInAutocommit else {
        throw StoreAccessError(.outOfMemory, path: verification.path, operation: .verify, code: SQLITE_NOMEM)
      }
      try connection.reportingPagesRead(verification.structureProgress) { try verification.checkStructure(connection, level, onOpen) }
    }
    return verification.findings
  }

  private init(path: String, key: DatabaseKey, _ level: VerificationLevel, _ progress: ProgressHandler?) {
    self.path = path
    self.key = key
    // SQLite reads every page again, and every row of every index.
    let shares = ProgressShare(progress, total: 1_000)
    let pages = level == .full ? 400 : 0
    pagesProgress = shares.part(from: 0, units: pages)
    structureProgress = shares.part(from: pages, units: 1_000 - pages)
  }

  /// Records damage as a finding, and rethrows other errors.
  private mutating func record(_ error: StoreAccessError) throws {
    switch error.kind {
    case .storeCorrupt, .unreadableStore: findings.append(.unreadable(error.message ?? error.explanation))
    default: throw error
    }
  }

  // MARK: - Checking pages

  private mutating func checkPages(_ connection: Connection?) throws {
    let file = try BareDatabaseFile(path)
    let authenticator = try PageAuthenticator(key: key)
    // The snapshot prevents the log from being reset.
    if let connection { try? connection.beginRead() }
    defer { if let connection { connection.abandonTransaction() } }
    let expected = try expectedPages(connection)
    let logged = try checkLog(authenticator)
    let pageSize = key.format.pageSize
    let size = file.size
    let count = size / pageSize
    if size % pageSize != 0 { findings.append(.partialPage(bytes: size % pageSize)) }
    if let expected {
      if expected > count, !(count + 1...expected).allSatisfy(logged.contains) {
        findings.append(.missingPages(expected: expected, found: count))
      }
      if expected < count, logged.isEmpty { findings.append(.surplusPages(count - expected)) }
    }
    // SQLite uses this page for its locks, and never for content.
    let lockPage = (1 << 30) / pageSize + 1
    let last = min(count, expected ?? count)
    guard last > 0 else { return }
    let page = UnsafeMutableRawBufferPointer.allocate(byteCount: pageSize, alignment: 16)
    defer { page.deallocate() }
    var zeros: [Int] = []
    for number in 1...last where number != lockPage {
      if number & 1023 == 0, let pagesProgress, !pagesProgress(number, last) {
        throw StoreAccessError(.cancelled, path: path, operation: .verify)
      }
      // If the log has a newer copy, the page in the file may be partially written.
      switch try state(of: number, page, file, authenticator) {
      case .authentic:
        let isSalted = number > 1 || page[..<DatabaseKey.saltSize].elementsEqual(key.salt)
        if !isSalted, !logged.contains(number) { findings.append(.salt) }
      case .zero: if !logged.contains(number) { zeros.append(number) }
      case .damaged: if !logged.contains(number) { findings.append(.page(number)) }
      }
    }
    // An unused page may never have been written.
    if !zeros.isEmpty {
      let unused = try unusedPages()
      findings += zeros.filter { !unused.contains(UInt32(clamping: $0)) }.map { .page($0) }
    }
    if let pagesProgress, !pagesProgress(last, last) { throw StoreAccessError(.cancelled, path: path, operation: .verify) }
  }

  /// Returns the pages that may never have been written; none if damage prevents finding them.
  private func unusedPages() throws -> Set<UInt32> {
    do {
      return try FreePages.leaves(path: path, key: key)
    } catch let error as StoreAccessError {
      if case .storeCorrupt = error.kind { return [] }
      throw error
    }
  }

  /// Returns the number of pages that the database header states.
  private mutating func expectedPages(_ connection: Connection?) throws -> Int? {
    guard let connection else { return nil }
    do throws(StoreAccessError) {
      return Int(try connection.pragma("page_count") ?? "")
    } catch {
      try record(error)
      return nil
    }
  }

  private enum PageState {
    case authentic, zero, damaged
  }

  private func state(
    of number: Int, _ page: UnsafeMutableRawBufferPointer, _ file: BareDatabaseFile, _ authenticator: PageAuthenticator
  ) throws -> PageState {
    // A checkpoint of another process may be writing the page.
    for attempt in 0..<3 {
      if attempt > 0 { usleep(2_000) }
      try file.read(into: page, offset: Int64(number - 1) * Int64(page.count))
      if GuardedFile.isZero(page) { return .zero }
      if try authenticator.isAuthentic(page, number: UInt32(clamping: number)) { return .authentic }
    }
    return .damaged
  }

  /// Checks the log, and returns the pages that have an authentic copy in it.
  private mutating func checkLog(_ authenticator: PageAuthenticator) throws -> Set<Int> {
    var pages: Set<Int> = []
    var pending: [VerificationFinding] = []
    var found: [VerificationFinding] = []
    var index = 0
    try WriteAheadLog.forEachFrame(path + "-wal", pageSize: key.format.pageSize) { (frame, page) throws(StoreAccessError) in
      index += 1
      if try authenticator.isAuthentic(page, number: frame.page) {
        pages.insert(Int(frame.page))
      } else {
        pending.append(.logFrame(index: index, page: Int(frame.page)))
      }
      // Frames after the last commit may be partially written.
      if frame.isCommit {
        found += pending
        pending = []
      }
      return true
    }
    findings += found
    return pages
  }

  // MARK: - Checking the structure

  /// Compares full-text tables with their texts, and reports in the wording of later SQLite versions, whose integrity check does this.
  ///
  /// Briefly takes the write lock. Skipped if nothing can be written.
  private mutating func checkFullText(_ connection: Connection, _ onOpen: (Connection) throws -> Void) throws {
    var tables: [String] = []
    do throws(StoreAccessError) {
      let list = try connection.statement(sql: "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE % USING fts4%'")
      defer { list.reset() }
      while try list.step() { tables.append(list.text(0)) }
    } catch {
      try record(error)
    }
    if tables.isEmpty || connection.options.isImmutable { return }
    func check(_ connection: Connection) throws -> [String] {
      try tables.filter { table in
        do throws(StoreAccessError) {
          let name = try Identifier.quoted(table)
          try connection.execute("INSERT INTO \(name) (\(name)) VALUES ('integrity-check')")
          return false
        } catch {
          guard case .storeCorrupt = error.kind else { throw error }
          return true
        }
      }
    }
    var malformed: [String] = []
    do {
      malformed =
        try connection.options.keepsJournalMode
        ? Connection.withUnchangedFile(path, key: key, options: connection.options) { connection in
          try onOpen(connection)
          return try check(connection)
        } : check(connection)
    } catch let error as StoreAccessError where connection.options.keepsJournalMode && [.readOnly, .permissionDenied].contains(error.kind) {
    } catch let error as StoreAccessError {
      try record(error)
    }
    for table in malformed { findings.append(.structure("malformed inverted index for FTS4 table main.\(table)")) }
  }

  /// Throws if a message of SQLite's check is caused by a temporary read error. SQLite reports such errors like damage, with the error code
  /// appended.
  static func checkIsDamage(_ line: String, path: String) throws(StoreAccessError) {
    guard let mark = line.range(of: "error code="), let code = Int32(line[mark.upperBound...].prefix { $0.isNumber }) else { return }
    let error = StoreAccessError.sqlite(code, handle: nil, path: path, operation: .verify)
    switch error.kind {
    case .io, .outOfMemory, .diskFull, .permissionDenied, .busy: throw error
    default: return
    }
  }

  private mutating func checkStructure(
    _ connection: Connection, _ level: VerificationLevel, _ onOpen: (Connection) throws -> Void
  ) throws {
    do throws(StoreAccessError) {
      let check = try connection.statement(sql: level == .full ? "PRAGMA integrity_check(100)" : "PRAGMA quick_check(100)")
      defer { check.reset() }
      while try check.step() {
        let line = check.text(0)
        try Self.checkIsDamage(line, path: path)
        if line != "ok" { findings.append(.structure(line)) }
      }
    } catch {
      try record(error)
    }
    if level == .full, !LibraryVersion.checksFullText { try checkFullText(connection, onOpen) }
    do {
      let check = try connection.statement(sql: "PRAGMA foreign_key_check")
      defer { check.reset() }
      while try check.step() {
        findings.append(.foreignKey(table: check.text(0), row: check.int64(1), parent: check.text(2)))
      }
      try connection.readTransaction { try connection.checkSentinel() }
    } catch let error as StoreAccessError {
      try record(error)
    }
  }
}
