import Foundation

/// The folder of a document: `StoreContent/` with the store, `AdditionalContent/` with files of the application, and `Info.json`.
struct DocumentFolder {
  /// The contents of `Info.json`.
  struct Info: Codable, Equatable {
    var format = Self.format
    var formatVersion = Self.newestVersion
    /// Identifies the document. A copy has another identifier.
    var identifier = UUID()

    static let format = "CipherData document"
    static let newestVersion = 1
  }

  /// The part of `Info.json` that is the same in all versions.
  private struct Head: Decodable {
    let format: String
    let formatVersion: Int
  }

  /// The identity of a folder in the file system and of the document in it, since inode numbers are reused.
  struct Identity: Equatable {
    fileprivate let device: UInt64
    fileprivate let inode: UInt64
    fileprivate let identifier: UUID
  }

  let url: URL

  var path: String { url.path }
  private var storeFolder: URL { url.appendingPathComponent("StoreContent", isDirectory: true) }
  var storeURL: URL { storeFolder.appendingPathComponent("persistentStore", isDirectory: false) }
  var contentFolder: URL { url.appendingPathComponent("AdditionalContent", isDirectory: true) }
  private var infoURL: URL { url.appendingPathComponent("Info.json", isDirectory: false) }

  // MARK: Creating and replacing

  /// Creates the folder and its subfolders. The location must be unused. The folder becomes a document when its ``Info`` is written.
  func create() throws(DocumentError) {
    // A dangling symbolic link also counts as existing.
    if Self.kind(path, followingLinks: false) != nil { throw DocumentError(.alreadyExists, path) }
    guard mkdir(path, 0o777) == 0 else {
      let number = errno
      throw number == EEXIST ? DocumentError(.alreadyExists, path) : Self.accessError(path, number)
    }
    for folder in [storeFolder.path, contentFolder.path] where mkdir(folder, 0o777) != 0 {
      let error = Self.accessError(folder, errno)
      remove()
      throw error
    }
  }

  /// Removes the folder and its contents.
  func remove() { try? FileManager.default.removeItem(at: url) }

  func write(_ info: Info) throws(DocumentError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    do { try encoder.encode(info).write(to: infoURL, options: .atomic) } catch {
      throw DocumentError(.fileAccess, infoURL.path, detail: error.localizedDescription)
    }
  }

  /// Returns a temporary sibling folder, in which a replacement of this document can be created.
  func staged() -> DocumentFolder {
    DocumentFolder(
      url: url.deletingLastPathComponent().appendingPathComponent(".\(url.lastPathComponent).\(UUID().uuidString)", isDirectory: true))
  }

  /// Replaces this folder by another one, and removes this one. If the operation is interrupted, one of the two is still complete, here or
  /// under a temporary name.
  func replace(by other: DocumentFolder) throws(DocumentError) {
    let former = staged()
    let (path, formerPath, otherPath) = (path, former.path, other.path)
    guard rename(path, formerPath) == 0 else {
      let error = Self.accessError(path, errno)
      other.remove()
      throw error
    }
    guard rename(otherPath, path) == 0 else {
      let error = Self.accessError(path, errno)
      // Restores the previous folder, unless the location is in use again.
      _ = rename(formerPath, path)
      other.remove()
      throw error
    }
    former.remove()
  }

  // MARK: Information and identity

  /// Reads `Info.json`.
  ///
  /// - Throws: ``DocumentError``, whose code distinguishes a missing document, an item that is not a document, a damaged document and a
  ///   newer one.
  func info() throws(DocumentError) -> Info {
    guard let kind = Self.kind(path) else { throw DocumentError(.doesNotExist, path) }
    guard kind == S_IFDIR, Self.kind(infoURL.path) == S_IFREG else { throw DocumentError(.notADocument, path) }
    let data: Data
    do { data = try Data(contentsOf: infoURL) } catch {
      throw DocumentError(.fileAccess, infoURL.path, detail: error.localizedDescription)
    }
    let decoder = JSONDecoder()
    guard let head = try? decoder.decode(Head.self, from: data), head.format == Info.format, head.formatVersion > 0 else {
      throw DocumentError(.damagedInfo, infoURL.path)
    }
    if head.formatVersion > Info.newestVersion { throw DocumentError(.newerFormat, path, detail: "its format is \(head.formatVersion)") }
    guard let info = try? decoder.decode(Info.self, from: data) else { throw DocumentError(.damagedInfo, infoURL.path) }
    return info
  }

  /// Returns the identity of the folder and its document.
  func identity() throws(DocumentError) -> Identity {
    let info = try info()
    var status = stat()
    guard stat(path, &status) == 0 else { throw DocumentError(.doesNotExist, path) }
    return Identity(
      device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino), identifier: info.identifier)
  }

  /// Throws if the folder is not the one that was opened.
  func check(_ opened: Identity) throws(DocumentError) {
    let now: Identity
    do { now = try identity() } catch {
      // A folder that is not a document has replaced the opened one.
      throw error.code == .notADocument ? DocumentError(.replaced, path) : error.code == .doesNotExist ? DocumentError(.moved, path) : error
    }
    if now != opened { throw DocumentError(.replaced, path) }
  }

  /// Returns the file type bits of the item at a path, or `nil` if there is no item.
  private static func kind(_ path: String, followingLinks: Bool = true) -> mode_t? {
    var status = stat()
    guard (followingLinks ? stat(path, &status) : lstat(path, &status)) == 0 else { return nil }
    return status.st_mode & S_IFMT
  }

  /// Returns the error for an error number of the system.
  private static func accessError(_ path: String, _ number: Int32) -> DocumentError {
    DocumentError(.fileAccess, path, detail: String(cString: strerror(number)))
  }
}
