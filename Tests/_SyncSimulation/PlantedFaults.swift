import Foundation

/// A fault that the simulator must find, from `PlantedFaults.txt`.
package struct PlantedFault {
  package let name: String
  /// The file below `Sources/SyncCore`.
  package let file: String
  let isExpression: Bool
  /// The code that is replaced, and where it is: a longer piece of code that occurs once in the file.
  let original: String
  let place: String
  let replacement: String

  /// Returns the faults of a list.
  package static func list(_ text: String) throws -> [PlantedFault] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).filter { !$0.hasPrefix("#") }
    return try lines.split(separator: "").map { paragraph in
      let lines = Array(paragraph)
      func line(_ mark: String) -> String? { lines.first { $0.hasPrefix(mark) }.map { String($0.dropFirst(2)) } }
      guard lines.count >= 4, let original = line("- "), let replacement = line("+ ") else {
        throw PlantingError(description: "Incomplete fault: \(lines.first ?? "")")
      }
      let words = lines[1].split(separator: " ")
      return PlantedFault(
        name: String(lines[0]), file: String(words[0]), isExpression: words.contains("expression"), original: original,
        place: line("@ ") ?? original, replacement: replacement)
    }
  }

  /// Returns sources in which all faults can be enabled by their numbers, which start from 1.
  ///
  /// - Parameter sources: The sources by file name.
  package static func plant(_ faults: [PlantedFault], in sources: [String: String]) throws -> [String: String] {
    var result = sources
    var edits: [(fault: PlantedFault, code: String)] = []
    for (index, fault) in faults.enumerated() {
      // Several faults can replace the same code.
      if let known = edits.firstIndex(where: {
        ($0.fault.file, $0.fault.place, $0.fault.original) == (fault.file, fault.place, fault.original)
      }) {
        edits[known].code = fault.enabled(index + 1, otherwise: edits[known].code)
      } else {
        edits.append((fault, fault.enabled(index + 1, otherwise: fault.original)))
      }
    }
    for (fault, code) in edits {
      guard let source = result[fault.file], source.components(separatedBy: fault.place).count == 2 else {
        throw PlantingError(description: "“\(fault.name)”: its code does not occur exactly once in \(fault.file).")
      }
      guard let range = fault.place.range(of: fault.original, options: .backwards) else {
        throw PlantingError(description: "“\(fault.name)”: its code is not in the line after @.")
      }
      var place = fault.place.replacingCharacters(in: range, with: code)
      if fault.isExpression, fault.place == fault.original, fault.original.hasPrefix("try ") { place = "try " + place }
      result[fault.file] = source.replacingOccurrences(of: fault.place, with: place)
    }
    let names = faults.map { "    \"\($0.name)\"," }.joined(separator: "\n")
    result["EnabledFault.swift"] = """
      package enum EnabledFault {
        nonisolated(unsafe) package static var number = 0
        /// How often the code of the enabled fault has run.
        nonisolated(unsafe) package static var count = 0
        static func isNumber(_ number: Int) -> Bool {
          if Self.number != number { return false }
          count += 1
          return true
        }
        package static let names = [
      \(names)
        ]
      }

      """
    return result
  }

  private func enabled(_ number: Int, otherwise code: String) -> String {
    isExpression
      ? "(EnabledFault.isNumber(\(number)) ? \(replacement) : \(code))"
      : "if EnabledFault.isNumber(\(number)) { \(replacement) } else { \(code)\n}"
  }
}

/// An error in the list of faults.
package struct PlantingError: Error, CustomStringConvertible {
  package let description: String
}
