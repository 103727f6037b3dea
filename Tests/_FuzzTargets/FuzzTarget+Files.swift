import CoreDataImport
import Foundation
import ObjectModel
import ObjectStore
import StoreFiles
import StoreKeys
import _CoreDataFixture
import _TestSupport

extension FuzzTarget {
  /// A publicly known key.
  private static let databaseKey = Result {
    try DatabaseKey(key: SecretBytes([UInt8](repeating: 7, count: 32)), salt: [UInt8](repeating: 9, count: 16))
  }

  static let keyFile = FuzzTarget(
    "key-file", dictionary: ["CipherDK", "\u{1}\u{0}", "\u{2}", "\u{40}"],
    seeds: {
      guard let key = try? databaseKey.get() else { return [] }
      var (file, keys) = KeyFile.make(for: key)
      guard
        (try? file.addSlot(
          .raw(SecretBytes([UInt8](repeating: 1, count: 32))), kind: .rawKey, label: "a label", kdf: .scrypt(), keys: &keys)) != nil,
        (try? file.finish(keys)) != nil, let bytes = try? file.serialized()
      else { return [] }
      return [Data(bytes)]
    }()
  ) { input in
    // The checksum at the end would reject nearly all inputs, so it is corrected.
    for bytes in [[UInt8](input), try KeyFile.withChecksum([UInt8](input.dropLast(32)))] {
      let file: KeyFile
      do { file = try KeyFile(parsing: bytes, path: "x.keys") } catch let error as StoreAccessError {
        switch error.kind {
        case .keyFileCorrupt, .unsupportedFormat: continue
        default: return "an error of another kind: \(error)"
        }
      }
      guard try file.serialized() == bytes else { return "what is written is another file" }
    }
    return nil
  }

  static let largeValue = FuzzTarget(
    "large-value", dictionary: ["CipherDX", "\u{1}\u{0}\u{10}\u{0}"],
    seeds: {
      guard let folder = try? largeValueFolder.get().folder, let path = try? folder.path + "/" + folder.keys.name(5) else { return [] }
      return [0, 100, 70_000].compactMap { count in
        unlink(path)
        guard let writer = try? folder.makeFile(id: 5), (try? [UInt8](repeating: 3, count: count).withUnsafeBytes(writer.write)) != nil,
          (try? writer.finish()) != nil
        else { return nil }
        return try? Data(contentsOf: URL(fileURLWithPath: path))
      }
    }()
  ) { input in
    let folder = try largeValueFolder.get().folder
    try input.write(to: URL(fileURLWithPath: folder.path + "/" + folder.keys.name(5)))
    do {
      let reader = try folder.openFile(id: 5)
      var count = 0
      while let bytes = try reader.next() { count += bytes.count }
      try reader.verify()
      return count == reader.count && count <= input.count ? nil : "\(count) bytes of \(reader.count) were read"
    } catch let error as StoreAccessError {
      switch error.kind {
      case .storeCorrupt(.externalFile), .unsupportedFormat: return nil
      default: return "an error of another kind: \(error)"
      }
    }
  }

  /// A folder of large values.
  private static let largeValueFolder = Result {
    let file = try ScratchFile("x.store")
    let folder = try ExternalFolder(storePath: file.path, key: databaseKey.get())
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    return (file: file, folder: folder)
  }

  static let log = FuzzTarget(
    "log", dictionary: ["\u{37}\u{7f}\u{6}", "\u{0}\u{0}\u{10}\u{0}"],
    seeds: [Data([0x37, 0x7F, 0x06, 0x82, 0, 0x2D, 0xE2, 0x18, 0, 0, 0x10, 0]) + Data(count: 20)]
  ) { input in
    let file = try scratch.get()
    try input.write(to: URL(fileURLWithPath: file.path))
    var frames = 0
    do {
      try WriteAheadLog.forEachFrame(file.path, pageSize: 512) { (_, _) throws(StoreAccessError) in
        frames += 1
        return true
      }
    } catch let error as StoreAccessError { return "a log is only ever ignored: \(error)" }
    return frames * 512 <= input.count ? nil : "more frames than bytes"
  }

  static let history = FuzzTarget(
    "history",
    seeds: [
      Data([1, 1, 1, 3]), Data([2, 1, 5, 2, 1, 1, 4, 2, 3, 2, 104, 105]), Data([4, 1, 5, 1, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F]),
      Data([12, 1, 97, 0]), Data([13, 3, 1, 5, 2, 0, 1, 2, 7, 2, 8, 2, 2, 9, 2, 10]),
      Data([14, 1, 97, 1, 98, 3, 1, 1, 0, 0, 0, 3, 1, 2, 0, 1, 3, 1, 120, 7, 1, 2, 3, 0]),
    ]
  ) { input in
    var decoder = HistoryDecoder([UInt8](input), number: 1)
    var count = 0
    do {
      while try decoder.next() != nil { count += 1 }
    } catch let error as StoreError where error.code == .storeCorrupt {}
    return count <= input.count ? nil : "more records than bytes"
  }

  /// One process writes and reads rows, which never come from outside. The values read must equal those set.
  static let row = FuzzTarget("row", seeds: [Data([4, 1, 3, 104, 101, 121, 2, 1, 2, 3, 4, 5, 6, 7, 8]), Data([70, 3, 200, 1, 2, 3])]) {
    input in
    var rest = input[...]
    let slotCount = Int(rest.popFirst() ?? 0) + 1
    let writer = RowWriter()
    writer.beginRow(entityNumber: 1, slotCount: slotCount, key: 5, version: 2)
    var expected: [(slot: Int, kind: SlotKind, value: Slot)] = []
    for slot in 0..<slotCount {
      guard let choice = rest.popFirst() else { break }
      let count = Int(rest.popFirst() ?? 0)
      let bytes = Data(rest.prefix(count))
      rest = rest.dropFirst(count)
      let number = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      switch choice % 5 {
      case 0: expected.append((slot, .int, .null))
      case 1: expected.append((slot, .text, .text(String(decoding: bytes, as: UTF8.self))))
      case 2: expected.append((slot, .int, .int(Int64(bitPattern: number))))
      case 3: expected.append((slot, .bytes, .bytes(bytes)))
      default: expected.append((slot, .real, .real(Double(number))))
      }
    }
    for (slot, _, value) in expected.reversed() { writer.set(value, at: slot) }
    let image = writer.endRow()
    for (slot, kind, value) in expected where try image.slot(slot, kind: kind) != value { return "slot \(slot) is read as something else" }
    for slot in expected.count..<max(slotCount, expected.count) where !image.isNull(slot) {
      return "slot \(slot) has a value that was never set"
    }
    return nil
  }

  static let coreData = FuzzTarget(
    "core-data", dictionary: ["SQLite format 3\u{0}", "Z_METADATA", "Z_PRIMARYKEY", "ZFILM", "CREATE TABLE", "Z_PK"],
    seeds: {
      guard let films, let file = try? ScratchFile() else { return [] }
      let graph = FixtureGraph(
        films,
        [
          FixtureObject("Film", 1, ["title": .text("Metropolis"), "year": .int(1_927)], toMany: ["tags": [1]]),
          FixtureObject("Tag", 1, ["name": .text("silent")], toMany: ["films": [0]]),
        ])
      let url = URL(fileURLWithPath: file.path)
      // Small pages: the input is read completely, wherever it is changed.
      guard let database = try? AppleFixtureWriter(graph).write(to: url, settings: ["page_size = 512"]) else { return [] }
      database.close()
      return (try? Data(contentsOf: url)).map { [$0] } ?? []
    }()
  ) { input in
    guard let films else { return "there is no model" }
    let file = try scratch.get()
    try input.write(to: URL(fileURLWithPath: file.path))
    for suffix in ["-wal", "-shm", "-journal"] { unlink(file.path + suffix) }
    let url = URL(fileURLWithPath: file.path)
    do {
      try waitFor {
        let store = try await CoreDataStore.open(at: url, model: films.model)
        _ = try await store.objectCounts()
      }
    } catch is CoreDataImportError {
    } catch is StoreError {
    }
    return nil
  }

  static let propertyList = FuzzTarget(
    "property-list",
    dictionary: [
      "bplist00", "<array>", "</array>", "<dict>", "<key>", "<string>", "<!DOCTYPE", "(", ")", "{", "}", "NSStoreModelVersionIdentifiers",
    ],
    seeds: ([.xml, .binary] as [PropertyListSerialization.PropertyListFormat]).compactMap {
      try? PropertyListSerialization.data(
        fromPropertyList: ["NSStoreModelVersionIdentifiers": ["1", "2"], "NSPersistenceFrameworkVersion": 1_000], format: $0, options: 0)
    }
  ) { input in
    _ = CoreDataStore.versionIdentifiers(inPropertyList: input)
    return nil
  }
}
