//! The tables of a page as text files: all of them in one Markdown file, and each as CSV.

use super::escape::file_names;
use super::{Page, Section, Table};

impl Page {
    /// The tables of the page: `("tables.md", …)`, which includes its text, and one `("CAPTION.csv", …)` for each table.
    #[must_use]
    pub fn render_tables(&self) -> Vec<(String, String)> {
        let tables = self.sections.iter().flat_map(|section| section.tables.iter().map(move |table| (section, table)));
        let tables: Vec<(&Section, &Table)> = tables.collect();
        let captions =
            tables.iter().map(
                |(section, table)| {
                    if table.caption.is_empty() { section.heading.as_str() } else { table.caption.as_str() }
                },
            );
        let names = file_names(captions);
        let mut files = vec![("tables.md".to_owned(), self.markdown())];
        files.extend(names.iter().zip(&tables).map(|(name, (_, table))| (format!("{name}.csv"), table.csv())));
        files
    }

    fn markdown(&self) -> String {
        let mut parts = vec![format!("# {}", self.title), self.lead.clone()];
        for section in self.sections.iter().filter(|section| !section.tables.is_empty()) {
            parts.push(format!("## {}", section.heading));
            parts.extend(section.text.iter().cloned());
            for table in &section.tables {
                parts.extend([table.caption.clone(), table.markdown()]);
            }
        }
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n") + "\n"
    }
}

impl Table {
    fn markdown(&self) -> String {
        let alignment = (0..self.header.len()).map(|column| if self.is_numeric(column) { "---:" } else { "---" });
        let rules: Vec<String> = alignment.map(str::to_owned).collect();
        let mut lines = vec![markdown_row(&self.header), markdown_row(&rules)];
        lines.extend(self.rows.iter().map(|cells| markdown_row(cells)));
        lines.join("\n")
    }

    fn csv(&self) -> String {
        let lines = std::iter::once(&self.header).chain(&self.rows);
        lines.map(|cells| cells.iter().map(|cell| csv_cell(cell)).collect::<Vec<_>>().join(",") + "\n").collect()
    }
}

fn markdown_row(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
    format!("| {} |", cells.join(" | "))
}

/// The text, quoted if it contains a separator.
fn csv_cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_become_markdown_and_csv() {
        let [header, first, second] =
            [["model", "R²"], ["a|b", "0.5"], ["say \"c\", d", "1"]].map(|cells| cells.map(str::to_owned).to_vec());
        let table = Table { caption: "Scores by model".to_owned(), header, rows: vec![first, second] };
        let section = Section { heading: "Scores".to_owned(), tables: vec![table], ..Section::default() };
        let page = Page { title: "T".to_owned(), lead: String::new(), sections: vec![section] };
        let files = page.render_tables();
        let markdown = "# T\n\n## Scores\n\nScores by model\n\n| model | R² |\n| --- | ---: |\n| a\\|b | 0.5 |\n| say \"c\", d | 1 |\n";
        assert_eq!(files[0], ("tables.md".to_owned(), markdown.to_owned()));
        let csv = "model,R²\na|b,0.5\n\"say \"\"c\"\", d\",1\n";
        assert_eq!(files[1], ("Scores-by-model.csv".to_owned(), csv.to_owned()));
    }
}
