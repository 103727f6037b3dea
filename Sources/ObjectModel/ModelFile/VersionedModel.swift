public import Foundation

/// The versions of a model in an `.xcdatamodeld` bundle.
///
/// ```swift
/// let library = try VersionedModel(contentsOf: url)
/// let first = library.version(named: "Library 1")
/// let stages = StagedMigrationManager(library)
/// ```
///
/// Errors of reading are ``ModelFileError`` with the file and the line. Writing preserves everything that was read.
public struct VersionedModel: Sendable, Hashable {
  /// A version of a model.
  public struct Version: Sendable, Hashable {
    /// The version's name, such as `Library 2`.
    public var name: String
    /// The model.
    public var model: ManagedObjectModel

    /// Creates a version.
    public init(name: String, model: ManagedObjectModel) {
      self.name = name
      self.model = model
    }
  }
  /// The name of the bundle, without its extension.
  public var name: String
  /// The versions, ordered by name with numeric comparison of numbers.
  public var versions: [Version]
  /// The name of the current version.
  public var currentVersionName: String

  /// Creates a bundle from versions.
  ///
  /// - Parameters:
  ///   - name: The bundle's name.
  ///   - versions: The versions, oldest first.
  ///   - currentVersionName: The name of the current version.
  public init(name: String, versions: [Version], currentVersionName: String) {
    self.name = name
    self.versions = versions
    self.currentVersionName = currentVersionName
  }

  /// The model of the current version; nil if there is no such version.
  public var current: ManagedObjectModel? { version(named: currentVersionName) }

  /// Returns the model of the version with a name; nil if there is none.
  public func version(named name: String) -> ManagedObjectModel? { versions.first { $0.name == name }?.model }

  /// Reads an `.xcdatamodeld` bundle with all its versions, including those written by Xcode 3.
  ///
  /// - Parameters:
  ///   - url: The bundle.
  ///   - strict: Whether each of ``ModelFileLint/findings(inModelAt:)`` in a version is an error.
  /// - Throws: ``ModelFileError`` if a version cannot be read, or if there are several versions and `.xccurrentversion` does not name one
  ///   of them.
  public init(contentsOf url: URL, strict: Bool = false) throws(ModelFileError) {
    name = url.deletingPathExtension().lastPathComponent
    let names = try ModelFiles.versionNames(in: url)
    currentVersionName = try ModelFiles.currentVersionName(in: url, of: names)
    versions = []
    for name in names {
      let version = url.appendingPathComponent(name + ".xcdatamodel")
      versions.append(Version(name: name, model: try ManagedObjectModel(contentsOf: version, strict: strict)))
    }
  }

  /// Writes the versions into a bundle. Other files in the bundle are left unchanged.
  ///
  /// - Throws: ``ModelFileError`` if a file cannot be written, or if a model contains text that XML does not allow.
  @_optimize(none) public func write(to url: URL) throws(ModelFileError) {
    guard versions.contains(where: { $0.name == currentVersionName }) else {
      throw ModelFileError(.noCurrentVersion, path: url.path, "the bundle has no version '\(currentVersionName)'; name one of its versions")
    }
    for version in versions {
      try ModelFiles.check(versionName: version.name, path: url.path)
      try ModelFiles.write(version.model, toVersionAt: url.appendingPathComponent(version.name + ".xcdatamodel"))
    }
    try ModelFiles.writeCurrentVersionName(currentVersionName, to: url)
  }

  /// Copies the current version of a bundle, including all its files, to a new version, and makes the copy the current version. The
  /// previous version stays unchanged for stores of earlier releases of the application.
  ///
  /// - Parameters:
  ///   - url: An `.xcdatamodeld` bundle.
  ///   - name: The name of the new version; nil for the bundle's name with the next free number, such as `Library 2`.
  /// - Returns: The name of the new version.
  /// - Throws: ``ModelFileError`` if the bundle cannot be read or written, or if a version with the name exists.
  @discardableResult
  @_optimize(none) public static func addVersion(named name: String? = nil, toBundleAt url: URL) throws(ModelFileError) -> String {
    guard url.pathExtension == "xcdatamodeld" else {
      throw ModelFileError(.unwritable, path: url.path, "only an .xcdatamodeld holds versions; put the .xcdatamodel into one")
    }
    let names = try ModelFiles.versionNames(in: url)
    let current = try ModelFiles.currentVersionName(in: url, of: names)
    let made = name ?? ModelFiles.nextVersionName(after: names, bundle: url.deletingPathExtension().lastPathComponent)
    try ModelFiles.check(versionName: made, path: url.path)
    guard !names.contains(where: { $0.lowercased() == made.lowercased() }) else {
      throw ModelFileError(.unwritable, path: url.path, "the bundle has a version '\(made)'; choose another name")
    }
    // Only copy a version that can be read.
    _ = try ModelFiles.model(inVersionAt: url.appendingPathComponent(current + ".xcdatamodel"))
    do {
      try FileManager.default.copyItem(
        at: url.appendingPathComponent(current + ".xcdatamodel"), to: url.appendingPathComponent(made + ".xcdatamodel"))
    } catch {
      throw ModelFileError(.unwritable, path: url.path, "the version cannot be copied; check the folder and its permissions")
    }
    try ModelFiles.writeCurrentVersionName(made, to: url)
    return made
  }
}

extension ManagedObjectModel {
  /// Reads a model: the current version of an `.xcdatamodeld` bundle, an `.xcdatamodel` bundle, or the `contents` file of one.
  ///
  /// Files that Core Data accepts can be read. An unusable value is replaced, such as the default value `NO` of an integer by 0;
  /// ``ModelFileLint/unusableParts(ofModelAt:)`` reports the replacements. Writing the model restores the original text.
  ///
  /// - Parameters:
  ///   - url: The bundle or file.
  ///   - strict: Whether each of ``ModelFileLint/findings(inModelAt:)`` is an error: unknown names, unusable values, attributes without a
  ///     type, and relationships without an inverse.
  /// - Throws: ``ModelFileError`` with the file, the line and the reason. ``CompiledModel`` reports issues of the model itself.
  public init(contentsOf url: URL, strict: Bool = false) throws(ModelFileError) {
    let model = try ModelFiles.model(at: try ModelFiles.contents(ofModelAt: url))
    if strict, let first = try ModelFileLint.findings(inModelAt: url).first { throw first.error }
    self = model
  }

  /// Writes the model: to an `.xcdatamodeld` bundle as its only version, to an `.xcdatamodel` bundle, or to a `contents` file.
  ///
  /// - Throws: ``ModelFileError`` if a file cannot be written, or if a name contains a character that XML does not allow.
  public func write(to url: URL) throws(ModelFileError) {
    switch url.pathExtension {
    case "xcdatamodeld":
      let name = url.deletingPathExtension().lastPathComponent
      try VersionedModel(name: name, versions: [.init(name: name, model: self)], currentVersionName: name).write(to: url)
    case "xcdatamodel": try ModelFiles.write(self, toVersionAt: url)
    default: try ModelFiles.write(try xmlData(), to: url)
    }
  }
}

/// Access to the files of model bundles.
enum ModelFiles {
  static func isDirectory(_ url: URL) -> Bool {
    var isDirectory: ObjCBool = false
    return FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory) && isDirectory.boolValue
  }

  /// Returns the names of a bundle's versions, without their extension.
  static func versionNames(in url: URL) throws(ModelFileError) -> [String] {
    let entries: [String]
    do { entries = try FileManager.default.contentsOfDirectory(atPath: url.path) } catch {
      throw ModelFileError(.unreadable, path: url.path, reasonOfFailure(at: url, otherwise: "the bundle is not a folder"))
    }
    let names = entries.filter { $0.hasSuffix(".xcdatamodel") }.map { String($0.dropLast(".xcdatamodel".count)) }
    guard !names.isEmpty else { throw ModelFileError(.noCurrentVersion, path: url.path, "the bundle has no .xcdatamodel in it") }
    return names.sorted { $0.compare($1, options: [.numeric, .literal]) == .orderedAscending }
  }

  /// Returns the current version of a bundle: the one in its property list, or the only one.
  @_optimize(none) static func currentVersionName(in url: URL, of names: [String]) throws(ModelFileError) -> String {
    let list = url.appendingPathComponent(".xccurrentversion")
    guard FileManager.default.fileExists(atPath: list.path) else {
      if names.count == 1 { return names[0] }
      throw ModelFileError(
        .noCurrentVersion, path: url.path, "the bundle has \(names.count) versions and no .xccurrentversion that names one of them")
    }
    var bounds = XMLBounds()
    bounds.bytes = 64 << 10
    bounds.allowsDoctype = true
    let root = try XMLTreeParser.parse(try data(at: list, limit: bounds.bytes), path: list.path, bounds: bounds)
    let items = root.children.first { $0.name == "dict" }?.children ?? []
    let position = items.firstIndex { $0.name == "key" && $0.text == "_XCCurrentVersionName" }
    guard let position, position + 1 < items.count, items[position + 1].name == "string" else {
      throw ModelFileError(.noCurrentVersion, path: list.path, "the property list has no _XCCurrentVersionName")
    }
    let file = items[position + 1].text
    // Only a listed name is accepted, so that the property list cannot refer outside of the bundle.
    guard let name = names.first(where: { $0 + ".xcdatamodel" == file }) else {
      throw ModelFileError(.noCurrentVersion, path: list.path, "the current version '\(file)' is not in the bundle")
    }
    return name
  }

  /// Returns the `contents` file of a model, or of the current version in a bundle of versions.
  @_optimize(none) static func contents(ofModelAt url: URL) throws(ModelFileError) -> URL {
    if ["mom", "momd", "omo"].contains(url.pathExtension), !isXML(url) { throw compiled(url.path) }
    if url.pathExtension == "xcdatamodeld" {
      let current = try currentVersionName(in: url, of: try versionNames(in: url))
      return try contents(ofModelAt: url.appendingPathComponent(current + ".xcdatamodel"))
    }
    guard isDirectory(url) else { return url }
    let (contents, old) = (url.appendingPathComponent("contents"), url.appendingPathComponent("elements"))
    // If a later Xcode has saved the model, the old file is ignored.
    return !FileManager.default.fileExists(atPath: contents.path) && FileManager.default.fileExists(atPath: old.path) ? old : contents
  }

  /// Returns the tree of a model file's data: XML, or an Xcode 3 archive.
  static func tree(of data: Data, path: String?) throws(ModelFileError) -> XMLNode {
    guard data.starts(with: Data("bplist00".utf8)) else { return try XMLTreeParser.parse(data, path: path) }
    return try OldModelArchive.tree(of: data, path: path)
  }

  /// Returns whether a file begins like XML. The CoreData module gives a version's XML file the extension of Apple's compiled models.
  private static func isXML(_ url: URL) -> Bool {
    guard let file = try? FileHandle(forReadingFrom: url) else { return false }
    defer { try? file.close() }
    return (try? file.read(upToCount: 1)) == Data("<".utf8)
  }

  static func compiled(_ path: String?) -> ModelFileError {
    ModelFileError(
      .compiled, path: path,
      "this is a compiled model, as Xcode puts it into an application; use the .xcdatamodeld or .xcdatamodel that it was compiled from")
  }

  /// Returns the other versions in the bundle of a version's contents file; empty if there is no bundle. Omits damaged versions, which are
  /// reported where they are read.
  static func otherVersions(of file: URL) -> [ManagedObjectModel] {
    let version = file.deletingLastPathComponent()
    let bundle = version.deletingLastPathComponent()
    guard version.pathExtension == "xcdatamodel", bundle.pathExtension == "xcdatamodeld" else { return [] }
    let files = ((try? versionNames(in: bundle)) ?? []).map { $0 + ".xcdatamodel" }.filter { $0 != version.lastPathComponent }
    return files.compactMap { try? model(inVersionAt: bundle.appendingPathComponent($0)) }
  }

  static func model(inVersionAt url: URL) throws(ModelFileError) -> ManagedObjectModel {
    try model(at: try contents(ofModelAt: url))
  }

  static func model(at url: URL) throws(ModelFileError) -> ManagedObjectModel {
    try DataModelReader.model(of: try data(at: url), path: url.path)
  }

  /// A file's bytes, refused before they are read when there are too many.
  @_optimize(none) static func data(at url: URL, limit: Int = XMLBounds().bytes) throws(ModelFileError) -> Data {
    let attributes = try? FileManager.default.attributesOfItem(atPath: url.resolvingSymlinksInPath().path)
    guard let attributes, attributes[.type] as? FileAttributeType == .typeRegular else {
      throw ModelFileError(.unreadable, path: url.path, reasonOfFailure(at: url, otherwise: "this is not a file"))
    }
    if let size = attributes[.size] as? Int, size > limit {
      throw ModelFileError(.tooLarge, path: url.path, "the file has \(size) bytes; the reader takes \(limit)")
    }
    do { return try Data(contentsOf: url) } catch {
      throw ModelFileError(.unreadable, path: url.path, reasonOfFailure(at: url, otherwise: "the file cannot be read"))
    }
  }

  /// Returns why a file or folder could not be read: it does not exist, the system's reason, or else the given one.
  @_optimize(none) private static func reasonOfFailure(at url: URL, otherwise reason: String) -> String {
    var status = stat()
    let exists = stat(url.path, &status) == 0
    // A file may exist without being readable.
    if exists, access(url.path, R_OK) == 0 { return "\(reason); a model is an .xcdatamodeld, an .xcdatamodel or a contents file" }
    let number = errno
    if !exists, number == ENOENT || number == ENOTDIR {
      return "there is no such \(url.pathExtension.isEmpty ? "file" : "model"); check the path"
    }
    return "cannot read this: \(String(cString: strerror(number)))"
  }

  /// Writes the name of a bundle's current version. A property list that already contains the name stays unchanged.
  @_optimize(none) static func writeCurrentVersionName(_ name: String, to url: URL) throws(ModelFileError) {
    let list = url.appendingPathComponent(".xccurrentversion")
    if FileManager.default.fileExists(atPath: list.path), (try? currentVersionName(in: url, of: [name])) == name { return }
    let escaped = name.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    let plist = """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">
      <dict>
      \t<key>_XCCurrentVersionName</key>
      \t<string>\(escaped).xcdatamodel</string>
      </dict>
      </plist>

      """
    try write(Data(plist.utf8), to: list)
  }

  /// Returns the bundle's name with the next number: one more than the highest used number, at least 2.
  static func nextVersionName(after names: [String], bundle: String) -> String {
    let numbers = names.compactMap { name in
      name.hasPrefix(bundle + " ") ? Int(name.dropFirst(bundle.count + 1)) : nil
    }
    let maximum = (numbers + [1]).max() ?? 1
    return "\(bundle) \(maximum == Int.max ? 2 : maximum + 1)"
  }

  static func check(versionName: String, path: String) throws(ModelFileError) {
    guard !versionName.isEmpty, !versionName.contains("/"), !versionName.contains("\0"), !versionName.hasPrefix(".") else {
      throw ModelFileError(.unwritable, path: path, "a version's name may not be empty, begin with a dot or contain a slash")
    }
  }

  static func write(_ model: ManagedObjectModel, toVersionAt url: URL) throws(ModelFileError) {
    try write(try model.xmlData(), to: url.appendingPathComponent("contents"))
  }

  static func write(_ data: Data, to url: URL) throws(ModelFileError) {
    do {
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    } catch {
      throw ModelFileError(.unwritable, path: url.path, "the file cannot be written; check the folder and its permissions")
    }
    try FileReplacement.write(data, to: url)
  }
}
