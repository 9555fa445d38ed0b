//! The tables of a page as plain files: all of them in one Markdown file, and each as CSV.

use super::escape::file_names;
use super::{Page, Section, Table};

impl Page {
    /// The tables of the page: `("tables.md", …)` with its words too, and one `("CAPTION.csv", …)` for each.
    #[must_use]
    pub fn render_tables(&self) -> Vec<(String, String)> {
        let tables =
            || self.sections.iter().flat_map(|section| section.tables.iter().map(move |table| (section, table)));
        let caption = |(section, table): (&Section, &Table)| {
            if table.caption.is_empty() { section.heading.clone() } else { table.caption.clone() }
        };
        let captions: Vec<String> = tables().map(caption).collect();
        let names = file_names(captions.iter().map(String::as_str));
        let mut files = vec![("tables.md".to_owned(), self.markdown())];
        files.extend(names.iter().zip(tables()).map(|(name, (_, table))| (format!("{name}.csv"), table.csv())));
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
        let row = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
            format!("| {} |", cells.join(" | "))
        };
        let rule = |column: usize| if self.is_numeric(column) { "---:" } else { "---" }.to_owned();
        let mut lines = vec![row(&self.header), row(&(0..self.header.len()).map(rule).collect::<Vec<_>>())];
        lines.extend(self.rows.iter().map(|cells| row(cells)));
        lines.join("\n")
    }

    fn csv(&self) -> String {
        let cell = |text: &String| {
            if text.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text.clone()
            }
        };
        let line = |cells: &Vec<String>| cells.iter().map(cell).collect::<Vec<_>>().join(",") + "\n";
        std::iter::once(&self.header).chain(&self.rows).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_become_markdown_and_csv() {
        let texts = |cells: &[&str]| cells.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>();
        let rows = vec![texts(&["a|b", "0.5"]), texts(&["say \"c\", d", "1"])];
        let table = Table { caption: "Scores by model".to_owned(), header: texts(&["model", "R²"]), rows };
        let section = Section { heading: "Scores".to_owned(), tables: vec![table], ..Section::default() };
        let page = Page { title: "T".to_owned(), lead: String::new(), sections: vec![section] };
        let files = page.render_tables();
        let markdown = "# T\n\n## Scores\n\nScores by model\n\n| model | R² |\n| --- | ---: |\n| a\\|b | 0.5 |\n| say \"c\", d | 1 |\n";
        assert_eq!(files[0], ("tables.md".to_owned(), markdown.to_owned()));
        let csv = "model,R²\na|b,0.5\n\"say \"\"c\"\", d\",1\n";
        assert_eq!(files[1], ("Scores-by-model.csv".to_owned(), csv.to_owned()));
    }
}
