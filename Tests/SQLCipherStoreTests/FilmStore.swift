import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// A folder with a store of films, whose posters can be large.
final class FilmStore {
  let folder: TemporaryFolder
  let observer = SQLObserver()
  var url: URL
  static let databaseKey = StoreKey.databaseKey(SecretBytes([UInt8](repeating: 9, count: 32)))
  var key: StoreKey

  init(key: StoreKey = FilmStore.databaseKey) throws {
    folder = try TemporaryFolder("FilmStore")
    url = folder.file("films.store")
    self.key = key
  }

  static func model(external: Bool = true, unique: Bool = false) throws -> CompiledModel {
    var entity = EntityDescription(name: "Film")
    var poster = AttributeDescription(name: "poster", type: .binary, isOptional: true)
    poster.allowsExternalBinaryDataStorage = external
    entity.properties = [
      .attribute(AttributeDescription(name: "title", type: .string, isOptional: true)), .attribute(poster),
      .attribute(AttributeDescription(name: "plain", type: .binary, isOptional: true)),
    ]
    if unique { entity.uniquenessConstraints = [["poster"]] }
    return try CompiledModel(ManagedObjectModel(entities: [entity]))
  }

  func open(
    _ model: CompiledModel? = nil, at url: URL? = nil, key: StoreKey? = nil,
    configure: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> OpenStore {
    var description = PersistentStoreDescription(url: url ?? self.url, key: key ?? self.key)
    // Files of released values are removed immediately.
    description.durability = .full
    description.sqlObserver = observer
    configure(&description)
    return try OpenStore(description, model: try model ?? FilmStore.model())
  }

  func unlock(_ url: URL? = nil, _ key: StoreKey? = nil) async throws -> SQLCipherStoreFile {
    try await SQLCipherStoreFile.unlock(at: url ?? self.url, key: key ?? self.key)
  }

  /// Returns the damage and the orphaned files that verification finds.
  func verify(_ level: StoreVerificationLevel = .full) async throws -> [String] { try await unlock().findings(level).map(\.description) }

  static func support(_ url: URL) -> URL { url.deletingLastPathComponent().appendingPathComponent(".\(url.lastPathComponent)_SUPPORT") }

  func files(_ url: URL? = nil) -> [URL] {
    let folder = FilmStore.support(url ?? self.url)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.filter { $0.count == 32 }.sorted().map { folder.appendingPathComponent($0) }
  }

  var isPending: Bool { FileManager.default.fileExists(atPath: FilmStore.support(url).appendingPathComponent("pending").path) }

  /// Modifies the database behind the library's back.
  func execute(_ sql: String) throws {
    let (path, key) = (url.path, self.key)
    let keyring = try waitFor { try await StoreKeyring.unlock(storePath: path, key: key) }
    let connection = try Connection(opening: path, key: try keyring.databaseKey())
    defer { connection.close() }
    try connection.execute(sql)
  }

  /// Returns bytes that depend on `seed`.
  static func bytes(_ count: Int, _ seed: Int = 1) -> Data {
    var value = UInt64(truncatingIfNeeded: seed) &* 0x9E37_79B9_7F4A_7C15 | 1
    var result = Data(capacity: count + 8)
    while result.count < count {
      value ^= value << 13
      value ^= value >> 7
      value ^= value << 17
      withUnsafeBytes(of: value) { result.append(contentsOf: $0) }
    }
    return Data(result.prefix(count))
  }
}

extension OpenStore {
  @discardableResult
  func addFilm(_ title: String, _ poster: Data?) throws -> ManagedObjectID {
    let context = newContext()
    let film = try context.insert("Film", ["title": title, "poster": poster])
    try context.save()
    return film.objectID
  }

  /// Runs `body` with a film in a new context.
  func withFilm<Result>(_ title: String, _ body: (ManagedObject, ManagedObjectContext) throws -> Result) throws -> Result {
    let context = newContext()
    let films = try context.all("Film").filter { $0.text("title") == title }
    return try body(try XCTUnwrap(films.first, "there is no film \(title)"), context)
  }

  func poster(_ title: String) throws -> Data? { try withFilm(title) { film, _ in try film.externalData(forKey: "poster")?.data() } }
}
