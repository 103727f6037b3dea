import Foundation

/// The application's own files in a document: existing files, and changes that the next save writes.
struct AdditionalContent {
  private let folder: URL
  /// The new contents by file name; `nil` for a file to remove.
  private var pending: [String: Data?] = [:]

  init(_ folder: DocumentFolder) { self.folder = folder.contentFolder }

  var hasChanges: Bool { !pending.isEmpty }

  /// The names of the files, sorted.
  var names: [String] {
    var names = Set((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).filter { !$0.hasPrefix(".") }
    for (name, data) in pending {
      if data == nil { names.remove(name) } else { names.insert(name) }
    }
    return names.sorted()
  }

  /// Returns the contents of a file, or `nil` if it does not exist.
  func data(named name: String) throws(DocumentError) -> Data? {
    let url = try url(of: name)
    if let data = pending[name] { return data }
    guard FileManager.default.fileExists(atPath: url.path) else { return nil }
    do { return try Data(contentsOf: url) } catch {
      throw DocumentError(.fileAccess, url.path, detail: error.localizedDescription)
    }
  }

  mutating func set(_ data: Data?, named name: String) throws(DocumentError) {
    _ = try url(of: name)
    pending.updateValue(data, forKey: name)
  }

  mutating func discardChanges() { pending = [:] }

  /// Writes the changes. Each file is written atomically.
  mutating func write() throws(DocumentError) {
    for (name, data) in pending {
      let url = try url(of: name)
      do {
        if let data {
          try data.write(to: url, options: .atomic)
        } else if FileManager.default.fileExists(atPath: url.path) {
          try FileManager.default.removeItem(at: url)
        }
      } catch {
        throw DocumentError(.fileAccess, url.path, detail: error.localizedDescription)
      }
      pending.removeValue(forKey: name)
    }
  }

  /// Copies the files to another document.
  func copy(to other: DocumentFolder) throws(DocumentError) {
    for name in names {
      let url = other.contentFolder.appendingPathComponent(name, isDirectory: false)
      do { try data(named: name)?.write(to: url) } catch {
        throw DocumentError(.fileAccess, url.path, detail: error.localizedDescription)
      }
    }
  }

  private func url(of name: String) throws(DocumentError) -> URL {
    if name.isEmpty || name.hasPrefix(".") || name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == 0 }) || name.utf8.count > 255 {
      throw DocumentError(.invalidName, folder.deletingLastPathComponent().path)
    }
    return folder.appendingPathComponent(name, isDirectory: false)
  }
}
