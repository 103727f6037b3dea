import CLibcrypto
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import SQLCipherStore
import StoreKeys
import _TestSupport

/// Measures the three ratios of the security plan's test 26: opening with a raw key, unlocking with a passphrase, and the check before
/// every fetch. Each is the minimum of several attempts, since other load only increases times.
enum Ratios {
  /// Prints the ratios, and returns whether all are within their limits.
  static func measure(in folder: URL) throws -> Bool {
    let path = folder.appendingPathComponent("ratios.store").path
    let description = PersistentStoreDescription(url: URL(fileURLWithPath: path), key: .passphrase(SecretBytes(utf8: "a passphrase")))
    let model = try CompiledModel(CountedStore.described)
    let coordinator = PersistentStoreCoordinator(compiledModel: model)
    let store = try coordinator.addPersistentStoreAndWait(description)
    let context = ManagedObjectContext(coordinator: coordinator)
    for number in 0..<1_000 {
      let author = try context.insertObject(entityName: "Author")
      try author.setValue("the author with the number \(number)", forKey: "name")
    }
    try context.save()

    let fetch = try least(of: 100) {
      let context = ManagedObjectContext(coordinator: coordinator)
      let found = try context.fetch(FetchRequest<ManagedObject>(entityName: "Author", predicate: .compare("name", .contains, "number 77")))
        .count
      if found == 0 { throw CocoaError(.coderValueNotFound) }
    }
    try coordinator.remove(store)

    let keyring = try waitFor { try await StoreKeyring.unlock(storePath: path, key: .passphrase(SecretBytes(utf8: "a passphrase"))) }
    let key = try keyring.databaseKey()
    let open = try least(of: 100) { try Connection(opening: path, key: key).close() }
    let connection = try Connection(opening: path, key: key)
    let sentinel = try connection.readTransaction {
      try least(of: 20) { for _ in 0..<1_000 { try connection.checkSentinel() } } / 1_000
    }
    connection.close()
    let unlock = try least(of: 5) {
      _ = try waitFor { try await StoreKeyring.unlock(storePath: path, key: .passphrase(SecretBytes(utf8: "a passphrase"))) }
    }
    let derivation = try least(of: 5, scrypt)

    func line(_ name: String, _ value: Double, _ bound: Double, _ unit: String) -> Bool {
      print("| \(name) | \(String(format: "%.3f", value)) \(unit) | \(bound) \(unit) |")
      return value <= bound
    }
    print("| What | Measured | At most |\n|---|---|---|")
    let results = [
      line("opening a connection with a raw key", open * 1_000, 1, "ms"),
      line(
        "unlocking with a passphrase, in times of its scrypt (\(String(format: "%.0f", derivation * 1_000)) ms)", unlock / derivation, 1.5,
        ""),
      line(
        "the check behind a fetch, of the fetch (1,000 rows searched, \(String(format: "%.2f", fetch * 1_000)) ms)", sentinel / fetch * 100,
        1, "%"),
    ]
    return results.allSatisfy { $0 }
  }

  /// Runs the key derivation with the library's default cost alone.
  private static func scrypt() throws {
    let (passphrase, salt) = (Array("a passphrase".utf8), [UInt8](repeating: 1, count: 32))
    var key = [UInt8](repeating: 0, count: 32)
    let isDone = passphrase.withUnsafeBytes {
      EVP_PBE_scrypt(
        $0.bindMemory(to: CChar.self).baseAddress, passphrase.count, salt, salt.count, 1 << 17, 8, 1, 256 << 20, &key, key.count)
    }
    if isDone != 1 { throw CocoaError(.featureUnsupported) }
  }
}
