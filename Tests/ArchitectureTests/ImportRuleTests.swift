import Foundation
import XCTest

/// The permitted dependencies between modules.
final class ImportRuleTests: XCTestCase {
  /// The modules that each module may import, apart from Foundation and the language's own.
  private static let allowed: [String: Set<String>] = [
    "StoreKeys": ["CLibcrypto"],
    "StoreFiles": ["CProcessor", "StoreKeys"],
    "SQLCipherConnection": ["CSQLCipher", "StoreKeys", "StoreFiles"],
    "ObjectModel": ["FoundationXML"],
    "ObjectQuery": ["ObjectModel"],
    "ObjectStore": ["ObjectModel", "ObjectQuery", "Logging"],
    "SQLCipherStore": ["ObjectModel", "ObjectQuery", "ObjectStore", "SQLCipherConnection", "StoreKeys", "StoreFiles", "Logging"],
    "ObjectContext": ["ObjectModel", "ObjectQuery", "ObjectStore", "OrderedCollections"],
    "CipherDataDocuments": ["ObjectModel", "ObjectStore", "ObjectContext"],
    "SyncCore": [],
    "SyncCrypto": ["CLibcrypto", "StoreKeys", "SyncCore"],
    "SyncHub": ["SQLCipherConnection", "StoreFiles", "StoreKeys", "SyncCore"],
    "SyncEngine": [
      "ObjectContext", "ObjectModel", "ObjectQuery", "ObjectStore", "SQLCipherStore", "StoreFiles", "StoreKeys", "SyncCore", "SyncCrypto",
      "SyncHub",
    ],
    "CipherDataSync": ["ObjectContext", "ObjectModel", "ObjectStore", "SQLCipherStore", "SyncCore", "SyncCrypto", "SyncEngine", "SyncHub"],
    "CoreDataImport": ["ObjectModel", "ObjectStore", "ObjectContext", "SQLCipherStore", "SQLCipherConnection", "StoreKeys", "StoreFiles"],
    "AccessorSymbols": ["ObjectModel"],
    "ModelCodeGeneration": ["ObjectModel"],
    "generate-managed-objects": ["ModelCodeGeneration", "ObjectModel"],
    "generate-core-data-sources": ["AccessorSymbols"],
    "CipherDataEngine": ["ObjectModel", "ObjectQuery", "ObjectStore"],
    "CipherData": ["ObjectModel", "ObjectQuery", "ObjectStore", "ObjectContext", "SQLCipherStore", "StoreKeys"],
    "CoreData": ["ObjectModel", "ObjectQuery", "ObjectStore", "ObjectContext", "SQLCipherStore", "StoreKeys"],
    "UnifiedLogging": ["Logging"],
    "CipherDataToolKit": [
      "AccessorSymbols", "CipherData", "CoreDataImport", "ModelCodeGeneration", "ObjectModel", "ObjectQuery", "ObjectStore",
      "ObjectContext", "SQLCipherStore", "StoreFiles", "SyncCore", "SyncCrypto", "SyncEngine", "SyncHub", "ArgumentParser", "CLibedit",
    ],
    "CipherDataTool": ["CipherDataToolKit", "ArgumentParser"],
    "CipherDataMacros": ["SwiftCompilerPlugin", "SwiftDiagnostics", "SwiftSyntax", "SwiftSyntaxBuilder", "SwiftSyntaxMacros"],
    "CSQLCipher": [], "CLibcrypto": [], "CLibcryptoAtExit": [], "CLibedit": [], "CZlib": [], "CProcessor": [],
  ]
  private static let ofTheLanguage: Set<String> = [
    "Foundation", "Synchronization", "Observation", "Dispatch", "Glibc", "Darwin", "Musl", "Swift",
  ]
  private static let exceptions: [String: Set<String>] = [
    // Memory prefetching, and stores of whole words that the compiler must not split.
    "Sources/ObjectContext/Objects/MemoryAccess.swift": ["CProcessor"],
    // SHA-256 for version hashes: the only use of libcrypto apart from keys.
    "Sources/ObjectModel/Values/ContentDigest.swift": ["CLibcrypto"], "Sources/ObjectStore/Rows/RowTable.swift": ["CProcessor"],
    // The location of a property's value: a read that does not retain the object.
    "Sources/CoreData/Objects/ManagedObjects/ManagedKey.swift": ["CProcessor"],
    // The model in a store: the only use of zlib.
    "Sources/SQLCipherStore/Schema/CompressedText.swift": ["CZlib"],
  ]

  func testModulesImportOnlyAllowedModules() throws {
    for module in try Repository.folders(in: "Sources") {
      guard let allowed = Self.allowed[module] else {
        XCTFail("Sources/\(module) has no line in this test's table of imports")
        continue
      }
      for (file, text) in Repository.sources where file.hasPrefix("Sources/\(module)/") {
        let permitted = allowed.union(Self.ofTheLanguage).union(Self.exceptions[file] ?? [])
        for name in imports(text) where !permitted.contains(name) {
          XCTFail("\(file) imports \(name), which \(module) must not know")
        }
      }
    }
  }

  func testImportExceptionsAreStillNeeded() {
    for (file, modules) in Self.exceptions {
      let imported = Repository.sources.first { $0.file == file }.map { Set(imports($0.text)) } ?? []
      XCTAssertTrue(imported.isSuperset(of: modules), "\(file) needs its exception no more")
    }
  }

  func testOnlyTheTwoUmbrellaModulesReExportModules() {
    // The superclasses of CoreData's classes and the types of its keys must be visible where they are used, and importing Core Data
    // includes Foundation. The first file declares these imports.
    let types = [
      "public import Foundation", "import class ObjectContext.ManagedObject", "import struct ObjectContext.ManagedObjectSeed",
      "import struct ObjectContext.SnapshotEvents",
      "import struct ObjectContext.KeyPathNames", "import struct ObjectModel.ManagedObjectID", "import class StoreKeys.SecretBytes",
      "import enum StoreKeys.StoreKey",
    ]
    // What an application uses of a module that it does not import: the error of synchronization, where large values are, and conversions.
    let synchronized = [
      "import enum SyncEngine.AssetPolicy", "import enum SyncEngine.AssetState", "import enum SyncEngine.SyncConversions",
      "import struct SyncEngine.SyncError",
    ]
    for (file, text) in Repository.sources where !file.hasPrefix("Sources/CipherData/") && !file.hasPrefix("Sources/CipherDataEngine/") {
      let lines = text.lines(containing: "@_exported").map { text.code[$0] }
      let isAllowed =
        file == "Sources/CoreData/CoreData.swift" && lines == types.map { "@_exported " + $0 }
        || file == "Sources/CipherDataSync/CipherDataSync.swift" && lines == synchronized.map { "@_exported public " + $0 }
      XCTAssertTrue(lines.isEmpty || isAllowed, "\(file) re-exports a module")
    }
  }

  func testDangerousFunctionsAreNotUsed() {
    // The first four destroy files or affect all later connections; XMLDocument reads external entities; the last two print.
    let names = ["sqlite3_rekey", "sqlite3_rekey_v2", "cipher_migrate", "XMLDocument", "dump", "debugPrint"]
    for (file, text) in Repository.sources {
      for name in names { XCTAssertTrue(text.lines(containing: name).isEmpty, "\(file) names \(name)") }
      // Pragmas occur in strings.
      for line in text.lines where !line.drop(while: \.isWhitespace).hasPrefix("//") {
        for pragma in ["PRAGMA rekey", "PRAGMA cipher_migrate", "PRAGMA cipher_default_", "PRAGMA cipher_hmac_salt_mask"] {
          XCTAssertFalse(line.contains(pragma), "\(file) uses \(pragma)")
        }
      }
    }
  }

  /// The modules that a file imports.
  private func imports(_ text: SwiftText) -> [String] {
    text.code.compactMap { line in
      let words = line.split(whereSeparator: \.isWhitespace)
      guard let index = words.firstIndex(of: "import"), words[..<index].allSatisfy(Self.isModifier), index + 1 < words.count else {
        return nil
      }
      let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
      let name = kinds.contains(words[index + 1]) && index + 2 < words.count ? words[index + 2] : words[index + 1]
      return String(name.prefix { $0 != "." && $0 != ";" })
    }
  }

  private static func isModifier(_ word: Substring) -> Bool {
    word.hasPrefix("@") || ["public", "package", "internal", "fileprivate", "private"].contains(word)
  }
}
