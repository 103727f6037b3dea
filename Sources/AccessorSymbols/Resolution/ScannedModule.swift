internal import ObjectModel

/// The scanned sources of a module.
package struct ScannedModule: Sendable {
  package var name: String
  package var sources: [ScannedSource]

  package init(name: String, sources: [ScannedSource]) { (self.name, self.sources) = (name, sources) }

  /// Returns the text that distinguishes declarations private to a file; `nil` if libcrypto lacks MD5.
  static func discriminator(ofFile file: String, in module: String) -> String? {
    let name = file.split(separator: "/").last.map(String.init) ?? file
    guard let digest = ContentDigest.md5(Array((module + name).utf8)) else { return nil }
    let digits = digest.map { byte in
      let text = String(byte, radix: 16, uppercase: true)
      return text.count == 1 ? "0" + text : text
    }
    return "_" + digits.joined()
  }
}
