import Foundation
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest
import _FaultInjection
import _ProofStore
import _StoreSpecification
import _TestSupport

/// The kinds of files of a store.
enum StoreFileKind: String, Codable, CaseIterable, Sendable {
  case database, log, logIndex, keys, largeValue, notice

  /// The kind of the file at a path in the store's folder.
  init?(path: String) {
    switch path {
    case "proof.store": self = .database
    case "proof.store-wal": self = .log
    case "proof.store-shm": self = .logIndex
    case "proof.store.keys": self = .keys
    case "proof.store-changes": self = .notice
    case let path where path.hasPrefix(".proof.store_SUPPORT/") && path.count == ".proof.store_SUPPORT/".count + 32: self = .largeValue
    default: return nil
    }
  }

  /// The errors that report damage to it.
  var codes: Set<StoreError.Code> {
    switch self {
    case .database: [.storeCorrupt, .notAStore, .notEncrypted]
    case .keys: [.keyFileCorrupt, .keyFileOutdated]
    // The version precedes the bytes that authenticate it.
    case .largeValue: [.storeCorrupt, .externalDataMissing, .unsupportedFormat]
    case .log: [.storeCorrupt]
    // These files contain nothing that the library trusts.
    case .logIndex, .notice: []
    }
  }
}

/// The modification of a file.
enum Damage: String, CaseIterable, Sendable {
  case flippedBit, flippedBits, zeroedRange, zeroedPage, noise, cut, lengthened, exchangedPages, olderPages, olderFile

  static let pageSize = 4_096
}

/// A store with one damaged file. The same seed reproduces the same damage.
struct DamagedFile: ProofCase {
  let base: DamageBase
  let kind: StoreFileKind
  let path: String
  let damage: Damage
  private let bytes: Data
  /// The offsets that differ; nil if the length does.
  private let changed: Range<Int>?

  /// - Parameter seed: Selects the file and the damage.
  init(_ base: DamageBase, seed: UInt64) {
    self.base = base
    var random = SeededGenerator(seed: seed)
    let kinds = Set(base.files.keys.compactMap { StoreFileKind(path: $0) }).sorted { $0.rawValue < $1.rawValue }
    let kind = kinds.randomElement(using: &random) ?? .database
    let paths = base.files.keys.filter { StoreFileKind(path: $0) == kind }.sorted()
    path = paths.randomElement(using: &random) ?? ""
    self.kind = kind
    let original = base.files[path] ?? Data()
    var found: (Damage, Data)?
    // Damage that changes nothing, such as zeros over zeros, is replaced by another.
    for _ in 0..<20 where found == nil {
      let damage = Damage.allCases.randomElement(using: &random) ?? .flippedBit
      if let bytes = Self.damaged(original, damage, path, base, &random), bytes != original { found = (damage, bytes) }
    }
    damage = found?.0 ?? .lengthened
    bytes = found?.1 ?? original + [1]
    changed = bytes.count == original.count ? Self.difference(original, bytes) : nil
  }

  var description: String {
    "\(base.name): \(path), \(damage.rawValue)\(changed.map { " from byte \($0.lowerBound) to \($0.upperBound)" } ?? " to \(bytes.count) bytes")"
  }

  /// The files, with the damaged one.
  private var image: DiskImage {
    var image: DiskImage = [:]
    for (path, data) in base.files { image[path] = .some(path == self.path ? bytes : data) }
    for path in base.folders { image[path] = .some(nil) }
    return image
  }

  func keep(in folder: URL) throws { try CrashDisk.write(image, to: folder) }

  func problem() throws -> String? {
    let folder = try WatchedFolder()
    try CrashDisk.write(image, to: folder.url)
    let contents: [String]
    do { contents = try base.settings.contents(folder.store) } catch {
      // A whole database of an earlier state, whose key the key file does not contain.
      if damage == .olderFile || damage == .olderPages || isUnrecognizable, (error as? StoreError)?.code == .keyFileOutdated { return nil }
      if let problem = StoreError.problem(of: error, allowed: kind.codes) { return problem }
      return try problemOfNaming(error)
    }
    // A file or page of an earlier state is authentic, so its age cannot be detected.
    if damage == .olderFile || damage == .olderPages { return nil }
    guard contents == base.contents || kind == .log && base.earlier.contains(contents) else {
      return "a wrong answer without an error: \(contents.count) lines for \(base.contents.count)"
    }
    return try problemOfVerifying(folder.store)
  }

  /// Whether nothing identifies the store that the key belongs to: its salt is replaced, and no page is unchanged.
  private var isUnrecognizable: Bool {
    guard kind == .database, let original = base.files[path], let changed, changed.lowerBound < DatabaseKey.saltSize else { return false }
    return stride(from: 0, to: original.count, by: Damage.pageSize).allSatisfy { start in
      original[start..<min(start + Damage.pageSize, original.count)] != bytes[start..<min(start + Damage.pageSize, bytes.count)]
    }
  }

  /// Checks that an error names the damaged file, and reports a modified page as one that fails authentication.
  private func problemOfNaming(_ error: any Error) throws -> String? {
    let text = "\(error)"
    switch kind {
    case .largeValue where !text.contains("large value"): return "the error does not name a large value: \(text)"
    case .database where damage == .flippedBit && (error as? StoreError)?.code == .storeCorrupt && !text.contains("authentication"):
      return "a changed page is reported as something else: \(text)"
    default: return nil
    }
  }

  /// Checks that verification reports a modified database whose contents read correctly.
  private func problemOfVerifying(_ url: URL) throws -> String? {
    guard kind == .database, !base.hasLog, let changed, !DamageBase.isPadding(changed) else { return nil }
    do {
      let damage = try base.settings.damage(url)
      // Opening a store without a log creates one and writes the first page, which restores the salt.
      let salt = 0..<DatabaseKey.saltSize
      if salt.contains(changed.lowerBound), changed.upperBound <= salt.upperBound, let original = base.files[path],
        try Data(contentsOf: url)[salt] == original[salt]
      {
        return nil
      }
      return damage.isEmpty ? "the store reads well, and its verification finds nothing" : nil
    } catch { return StoreError.problem(of: error, allowed: kind.codes) }
  }

  /// Returns the differing range of two files of equal length, by bisection. Comparing slices uses memory comparison; comparing bytes is
  /// slow in a debug build.
  private static func difference(_ first: Data, _ second: Data) -> Range<Int>? {
    guard first != second else { return nil }
    var (start, end) = (0..<first.count, 0..<first.count)
    while start.count > 1 {
      let middle = start.lowerBound + start.count / 2
      start = first[start.lowerBound..<middle] == second[start.lowerBound..<middle] ? middle..<start.upperBound : start.lowerBound..<middle
    }
    while end.count > 1 {
      let middle = end.lowerBound + end.count / 2
      end = first[middle..<end.upperBound] == second[middle..<end.upperBound] ? end.lowerBound..<middle : middle..<end.upperBound
    }
    return start.lowerBound..<end.upperBound
  }

  // MARK: Modifications

  private static func damaged(
    _ original: Data, _ damage: Damage, _ path: String, _ base: DamageBase, _ random: inout SeededGenerator
  ) -> Data? {
    var bytes = original
    let count = bytes.count
    // An empty file can only change its length.
    guard count > 0 || damage == .lengthened else { return nil }
    func place(_ random: inout SeededGenerator) -> Int { Int.random(in: 0..<count, using: &random) }
    func range(_ random: inout SeededGenerator) -> Range<Int> {
      let start = place(&random)
      return start..<min(count, start + 1 << Int.random(in: 0...12, using: &random))
    }
    let pages = count / Damage.pageSize
    func page(_ number: Int) -> Range<Int> { number * Damage.pageSize..<(number + 1) * Damage.pageSize }
    switch damage {
    case .flippedBit: bytes[place(&random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case .flippedBits:
      for _ in 0..<Int.random(in: 2...40, using: &random) { bytes[place(&random)] ^= 1 << UInt8.random(in: 0..<8, using: &random) }
    case .zeroedRange: for offset in range(&random) { bytes[offset] = 0 }
    case .zeroedPage:
      guard pages > 0 else { return nil }
      bytes.resetBytes(in: page(Int.random(in: 0..<pages, using: &random)))
    case .noise: for offset in range(&random) { bytes[offset] = UInt8.random(in: 0...255, using: &random) }
    case .cut: bytes = bytes.prefix(Bool.random(using: &random) ? place(&random) : place(&random) / Damage.pageSize * Damage.pageSize)
    case .lengthened:
      // Bytes after the last page of a database, or the last frame of a log, are not used.
      for _ in 0..<Int.random(in: 1...6_000, using: &random) { bytes.append(UInt8.random(in: 0...255, using: &random)) }
    case .exchangedPages:
      guard pages > 1 else { return exchanged(path, base, &random) }
      let (first, second) = (page(Int.random(in: 0..<pages, using: &random)), page(Int.random(in: 0..<pages, using: &random)))
      let moved = bytes.subdata(in: first)
      bytes.replaceSubrange(first, with: bytes.subdata(in: second))
      bytes.replaceSubrange(second, with: moved)
    case .olderPages:
      guard let older = base.olderFiles.randomElement(using: &random)?[path], StoreFileKind(path: path) == .database else { return nil }
      for number in 0..<min(pages, older.count / Damage.pageSize) where Int.random(in: 0..<3, using: &random) == 0 {
        bytes.replaceSubrange(page(number), with: older.subdata(in: page(number)))
      }
    case .olderFile: return base.olderFiles.randomElement(using: &random)?[path]
    }
    return bytes
  }

  /// Returns another file of the same kind, to replace this one.
  private static func exchanged(_ path: String, _ base: DamageBase, _ random: inout SeededGenerator) -> Data? {
    let others = base.files.keys.filter { $0 != path && StoreFileKind(path: $0) == StoreFileKind(path: path) }.sorted()
    return others.randomElement(using: &random).flatMap { base.files[$0] }
  }
}
