// DocumentFolder: a document as a folder: what lies where in it, and whether it is still the one that was opened.
import Foundation

/// A folder with a document: `StoreContent/` with the store, `AdditionalContent/` with files of the application, and `Info.json`.
struct DocumentFolder {
  /// What `Info.json` says.
  struct Info: Codable, Equatable {
    var format = Self.format
    var formatVersion = Self.newestVersion
    /// Tells the document from any other, its copies included.
    var identifier = UUID()

    static let format = "CipherData document"
    static let newestVersion = 1
  }

  /// What of `Info.json` is the same in every version.
  private struct Head: Decodable {
    let format: String
    let formatVersion: Int
  }

  /// A folder as the kernel knows it, and the document in it: numbers of folders are given out again.
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

  // MARK: Making

  /// Makes the folder, and those in it, where nothing is. It is no document before it has an ``Info``.
  func create() throws(DocumentError) {
    // A link that leads nowhere is something, too.
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

  /// Removes the folder with all that is in it.
  func remove() { try? FileManager.default.removeItem(at: url) }

  func write(_ info: Info) throws(DocumentError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    do { try encoder.encode(info).write(to: infoURL, options: .atomic) } catch {
      throw DocumentError(.fileAccess, infoURL.path, detail: error.localizedDescription)
    }
  }

  /// A folder beside this one, in which a document is made that is to take its place.
  func staged() -> DocumentFolder {
    DocumentFolder(
      url: url.deletingLastPathComponent().appendingPathComponent(".\(url.lastPathComponent).\(UUID().uuidString)", isDirectory: true))
  }

  /// Puts another folder in the place of this one, which is removed. Whatever happens, one of the two stands whole, here or beside.
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
      // The former one is back, unless somebody else has taken the place.
      _ = rename(formerPath, path)
      other.remove()
      throw error
    }
    former.remove()
  }

  // MARK: Asking

  /// What the document says of itself.
  ///
  /// - Throws: ``DocumentError``, by which nothing is told from no document, from a damaged one, from a newer one.
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

  /// Which folder it is, and which document.
  func identity() throws(DocumentError) -> Identity {
    let info = try info()
    var status = stat()
    guard stat(path, &status) == 0 else { throw DocumentError(.doesNotExist, path) }
    return Identity(
      device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino), identifier: info.identifier)
  }

  /// Throws unless the folder is still the one that was opened.
  func check(_ opened: Identity) throws(DocumentError) {
    let now: Identity
    do { now = try identity() } catch {
      // A folder that is no document has taken the place.
      throw error.code == .notADocument ? DocumentError(.replaced, path) : error.code == .doesNotExist ? DocumentError(.moved, path) : error
    }
    if now != opened { throw DocumentError(.replaced, path) }
  }

  /// What is at a path: the bits of its type; nil for nothing.
  private static func kind(_ path: String, followingLinks: Bool = true) -> mode_t? {
    var status = stat()
    guard (followingLinks ? stat(path, &status) : lstat(path, &status)) == 0 else { return nil }
    return status.st_mode & S_IFMT
  }

  /// What the system has just said of a path.
  private static func accessError(_ path: String, _ number: Int32) -> DocumentError {
    DocumentError(.fileAccess, path, detail: String(cString: strerror(number)))
  }
}
